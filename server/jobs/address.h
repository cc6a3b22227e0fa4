/* Address: which addresses the server may call on somebody's behalf.
 *
 * A webhook makes the server a client of whatever its URL names, inside a network that its author
 * may not see. So only addresses of the public internet are called, and what --notify-allow names.
 * The question is asked of the address that is really being connected to, after names are resolved.
 *
 * Pure functions and plain values: any thread.
 */
#pragma once

#include "base/error.h"
#include "server/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef enum AddressKind {
    ADDRESS_PUBLIC,
    ADDRESS_UNSPECIFIED,
    ADDRESS_LOOPBACK,
    ADDRESS_PRIVATE, /* RFC 1918, and unique local ones of IPv6 */
    ADDRESS_LINK_LOCAL,
    ADDRESS_CARRIER,  /* shared by a carrier's customers (RFC 6598) */
    ADDRESS_METADATA, /* where clouds keep the credentials of a machine */
    ADDRESS_MULTICAST,
    ADDRESS_MAPPED,   /* an IPv4 address written as IPv6 */
    ADDRESS_RESERVED, /* nobody's: documentation, tests, tunnels, the future */
    ADDRESS_KIND_COUNT
} AddressKind;

/* "public", "loopback", "link-local" ... */
const char *address_kind_name(AddressKind kind);

/* Anything but IPv4 and IPv6 is reserved. */
AddressKind address_classify(const struct sockaddr *address);

/* An address in numbers, IPv6 with or without brackets; false when it is none. */
bool address_parse(const char *text, struct sockaddr_storage *out);

/* Addresses with the same first bits. */
typedef struct AddressBlock {
    int family;
    int bits;
    uint8_t byte[16];
} AddressBlock;

enum { ALLOW_MAX = 64, ALLOW_HOST_SIZE = 254 };

/* What --notify-allow names. */
typedef struct AllowList {
    int block_count;
    AddressBlock block[ALLOW_MAX];
    int host_count;
    char host[ALLOW_MAX][ALLOW_HOST_SIZE];
} AllowList;

/* Reads items with commas between hosts, addresses and blocks ("10.1.0.0/16"). INVALID names the
 * one at fault. */
NODISCARD Status allow_list_read(const ConfigList *items, AllowList *out, Error *err);

/* May this address be called for a URL with that host? */
bool allow_list_has(const AllowList *list, const char *host, const struct sockaddr *address);
