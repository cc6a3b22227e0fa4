/* Attributes of functions, under one name for every compiler. */
#pragma once

#define NODISCARD __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))
