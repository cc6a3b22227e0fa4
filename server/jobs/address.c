#include "server/jobs/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first block that holds an address says what it is (IANA's special-purpose registries; of
 * metadata services those that lie in no other block). */
static const struct {
    const char *block;
    AddressKind kind;
} special[] = {
    {"0.0.0.0/8", ADDRESS_UNSPECIFIED},
    {"10.0.0.0/8", ADDRESS_PRIVATE},
    {"100.100.100.200/32", ADDRESS_METADATA},
    {"100.64.0.0/10", ADDRESS_CARRIER},
    {"127.0.0.0/8", ADDRESS_LOOPBACK},
    {"168.63.129.16/32", ADDRESS_METADATA},
    {"169.254.169.254/32", ADDRESS_METADATA},
    {"169.254.0.0/16", ADDRESS_LINK_LOCAL},
    {"172.16.0.0/12", ADDRESS_PRIVATE},
    {"192.0.0.192/32", ADDRESS_METADATA},
    {"192.0.0.0/24", ADDRESS_RESERVED},
    {"192.0.2.0/24", ADDRESS_RESERVED},
    {"192.88.99.0/24", ADDRESS_RESERVED},
    {"192.168.0.0/16", ADDRESS_PRIVATE},
    {"198.18.0.0/15", ADDRESS_RESERVED},
    {"198.51.100.0/24", ADDRESS_RESERVED},
    {"203.0.113.0/24", ADDRESS_RESERVED},
    {"224.0.0.0/4", ADDRESS_MULTICAST},
    {"240.0.0.0/4", ADDRESS_RESERVED},
    {"0.0.0.0/0", ADDRESS_PUBLIC},
    {"::/128", ADDRESS_UNSPECIFIED},
    {"::1/128", ADDRESS_LOOPBACK},
    {"::ffff:0.0.0.0/96", ADDRESS_MAPPED},
    {"::/96", ADDRESS_MAPPED},
    {"fd00:ec2::254/128", ADDRESS_METADATA},
    {"fd20:ce::254/128", ADDRESS_METADATA},
    {"fc00::/7", ADDRESS_PRIVATE},
    {"fe80::/10", ADDRESS_LINK_LOCAL},
    {"fec0::/10", ADDRESS_PRIVATE},
    {"ff00::/8", ADDRESS_MULTICAST},
    {"2001::/23", ADDRESS_RESERVED},
    {"2001:db8::/32", ADDRESS_RESERVED},
    {"2002::/16", ADDRESS_RESERVED},
    {"3fff::/20", ADDRESS_RESERVED},
    {"2000::/3", ADDRESS_PUBLIC},
    {"::/0", ADDRESS_RESERVED},
};

const char *address_kind_name(AddressKind kind)
{
    static const char *const name[ADDRESS_KIND_COUNT] = {
        [ADDRESS_PUBLIC] = "public",         [ADDRESS_UNSPECIFIED] = "unspecified",
        [ADDRESS_LOOPBACK] = "loopback",     [ADDRESS_PRIVATE] = "private",
        [ADDRESS_LINK_LOCAL] = "link-local", [ADDRESS_CARRIER] = "carrier's",
        [ADDRESS_METADATA] = "metadata",     [ADDRESS_MULTICAST] = "multicast",
        [ADDRESS_MAPPED] = "mapped",         [ADDRESS_RESERVED] = "reserved",
    };

    return name[kind];
}

/* The bytes of an address, in the order of the network; their family is 0 for other kinds. */
static AddressBlock bytes_of(const struct sockaddr *address)
{
    AddressBlock out = {.family = address->sa_family};

    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;

        memcpy(&four, address, sizeof four);
        memcpy(out.byte, &four.sin_addr, sizeof four.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 six;

        memcpy(&six, address, sizeof six);
        memcpy(out.byte, &six.sin6_addr, sizeof six.sin6_addr);
    } else {
        out.family = 0;
    }
    return out;
}

static bool holds(const AddressBlock *block, const AddressBlock *address)
{
    int whole = block->bits / 8;
    int rest = block->bits % 8;

    if (block->family != address->family || memcmp(block->byte, address->byte, (size_t)whole) != 0)
        return false;
    return rest == 0 || (block->byte[whole] ^ address->byte[whole]) >> (8 - rest) == 0;
}

/* "10.0.0.0/8", or an address alone; false when it is neither. */
static bool parse_block(const char *text, AddressBlock *out)
{
    struct sockaddr_storage address;
    char number[64];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    char *end = NULL;

    if (length >= sizeof number)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    if (!address_parse(number, &address))
        return false;
    AddressBlock block = bytes_of((const struct sockaddr *)&address);
    int most = block.family == AF_INET ? 32 : 128;
    block.bits = most;
    if (slash) {
        long bits = strtol(slash + 1, &end, 10);

        if (slash[1] < '0' || slash[1] > '9' || *end || bits > most)
            return false;
        block.bits = (int)bits;
    }
    *out = block;
    return true;
}

static AddressKind classify(const AddressBlock *address)
{
    static const uint8_t translated[12] = {0, 0x64, 0xff, 0x9b};
    AddressBlock block = {0};

    // a gateway to IPv4 (RFC 6052) leads to the address that is written behind its prefix
    if (address->family == AF_INET6 && memcmp(address->byte, translated, sizeof translated) == 0) {
        AddressBlock inner = {.family = AF_INET};

        memcpy(inner.byte, address->byte + sizeof translated, 4);
        return classify(&inner);
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (parse_block(special[i].block, &block) && holds(&block, address))
            return special[i].kind;
    return ADDRESS_RESERVED;
}

AddressKind address_classify(const struct sockaddr *address)
{
    AddressBlock bytes = bytes_of(address);

    return classify(&bytes);
}

bool address_parse(const char *text, struct sockaddr_storage *out)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    char bare[64];
    size_t length = strlen(text);
    bool has_brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';

    *out = (struct sockaddr_storage){0};
    if (length >= sizeof bare)
        return false;
    memcpy(bare, has_brackets ? text + 1 : text, length + 1 - has_brackets);
    if (has_brackets)
        bare[length - 2] = '\0';
    if (!has_brackets && inet_pton(AF_INET, bare, &four.sin_addr) == 1)
        memcpy(out, &four, sizeof four);
    else if (inet_pton(AF_INET6, bare, &six.sin6_addr) == 1)
        memcpy(out, &six, sizeof six);
    else
        return false;
    return true;
}

/* --- what is allowed all the same --- */

static bool is_host(const char *text, size_t length)
{
    if (length == 0 || length >= ALLOW_HOST_SIZE || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", text[i]))
            return false;
    return true;
}

static Status read_item(const char *text, size_t length, AllowList *list, Error *err)
{
    char item[ALLOW_HOST_SIZE] = "";

    if (length < sizeof item)
        memcpy(item, text, length);
    if (list->block_count == ALLOW_MAX || list->host_count == ALLOW_MAX)
        return error_set(err, STATUS_INVALID, "--notify-allow can name at most %d", ALLOW_MAX);
    if (parse_block(item, &list->block[list->block_count])) {
        list->block_count++;
        return STATUS_OK;
    }
    // what has only digits and points was meant as an address
    if (!is_host(text, length) || strspn(item, "0123456789.") == length)
        return error_set(err, STATUS_INVALID,
                         "--notify-allow must name hosts, addresses or blocks like 10.1.0.0/16, "
                         "got \"%.*s\"",
                         length < 100 ? (int)length : 100, text);
    memcpy(list->host[list->host_count++], item, length + 1);
    return STATUS_OK;
}

Status allow_list_read(const ConfigList *items, AllowList *out, Error *err)
{
    *out = (AllowList){0};
    for (int i = 0; i < items->count; i++) {
        for (const char *text = items->item[i]; text;) {
            size_t length = strcspn(text, ",");

            if (read_item(text, length, out, err))
                return err->status;
            text = text[length] ? text + length + 1 : NULL;
        }
    }
    return STATUS_OK;
}

bool allow_list_has(const AllowList *list, const char *host, const struct sockaddr *address)
{
    AddressBlock bytes = bytes_of(address);

    if (classify(&bytes) == ADDRESS_PUBLIC)
        return true;
    for (int i = 0; i < list->block_count; i++)
        if (holds(&list->block[i], &bytes))
            return true;
    for (int i = 0; i < list->host_count; i++)
        if (strcasecmp(list->host[i], host) == 0)
            return true;
    return false;
}
