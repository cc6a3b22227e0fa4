/* Font: five by seven pixels and two below the line, printable ASCII, for the labels of pictures.
 */
#pragma once

#include "picture/image.h"

enum { FONT_WIDTH = 5, FONT_HEIGHT = 9, FONT_ADVANCE = 6 };

/* `scale` pixels a dot, the upper left corner at (x, y); what lies outside is cut off. Characters
 * that are not ASCII become question marks. */
void font_draw(Image *image, int x, int y, int scale, uint32_t color, const char *text);
/* Pixels that a text takes. */
int font_width(const char *text, int scale);
