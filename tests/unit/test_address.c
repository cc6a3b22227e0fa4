#include "server/jobs/address.h"
#include "server/jobs/notify_url.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address;

    if (!address_parse(text, &address))
        (void)fprintf(stderr, "\"%s\" is no address\n", text);
    CHECK(address.ss_family != 0);
    return address;
}

static AddressKind classify(const char *text)
{
    struct sockaddr_storage address = address_of(text);

    return address_classify((const struct sockaddr *)&address);
}

static bool allows(const char *item, const char *host, const char *text)
{
    ConfigList items = {.count = item ? 1 : 0, .item = {item}};
    struct sockaddr_storage address = address_of(text);
    AllowList list;
    Error err = {0};

    CHECK_INT(allow_list_read(&items, &list, &err), ==, STATUS_OK);
    CHECK_OK(&err);
    return allow_list_has(&list, host, (const struct sockaddr *)&address);
}

/* First, last and neighbouring addresses of every special block. */
TEST(address, is_of_the_kind_that_its_block_says)
{
    static const struct {
        const char *text;
        AddressKind kind;
    } table[] = {
        {"0.0.0.0", ADDRESS_UNSPECIFIED},
        {"0.255.255.255", ADDRESS_UNSPECIFIED},
        {"1.0.0.0", ADDRESS_PUBLIC},
        {"1.1.1.1", ADDRESS_PUBLIC},
        {"9.255.255.255", ADDRESS_PUBLIC},
        {"10.0.0.0", ADDRESS_PRIVATE},
        {"10.255.255.255", ADDRESS_PRIVATE},
        {"11.0.0.0", ADDRESS_PUBLIC},
        {"100.63.255.255", ADDRESS_PUBLIC},
        {"100.64.0.0", ADDRESS_CARRIER},
        {"100.100.100.200", ADDRESS_METADATA},
        {"100.127.255.255", ADDRESS_CARRIER},
        {"100.128.0.0", ADDRESS_PUBLIC},
        {"126.255.255.255", ADDRESS_PUBLIC},
        {"127.0.0.0", ADDRESS_LOOPBACK},
        {"127.0.0.1", ADDRESS_LOOPBACK},
        {"127.255.255.255", ADDRESS_LOOPBACK},
        {"128.0.0.0", ADDRESS_PUBLIC},
        {"168.63.129.15", ADDRESS_PUBLIC},
        {"168.63.129.16", ADDRESS_METADATA},
        {"169.253.255.255", ADDRESS_PUBLIC},
        {"169.254.0.0", ADDRESS_LINK_LOCAL},
        {"169.254.169.254", ADDRESS_METADATA},
        {"169.254.255.255", ADDRESS_LINK_LOCAL},
        {"169.255.0.0", ADDRESS_PUBLIC},
        {"172.15.255.255", ADDRESS_PUBLIC},
        {"172.16.0.0", ADDRESS_PRIVATE},
        {"172.31.255.255", ADDRESS_PRIVATE},
        {"172.32.0.0", ADDRESS_PUBLIC},
        {"192.0.0.0", ADDRESS_RESERVED},
        {"192.0.0.192", ADDRESS_METADATA},
        {"192.0.1.0", ADDRESS_PUBLIC},
        {"192.0.2.1", ADDRESS_RESERVED},
        {"192.88.99.1", ADDRESS_RESERVED},
        {"192.167.255.255", ADDRESS_PUBLIC},
        {"192.168.0.0", ADDRESS_PRIVATE},
        {"192.168.255.255", ADDRESS_PRIVATE},
        {"192.169.0.0", ADDRESS_PUBLIC},
        {"198.17.255.255", ADDRESS_PUBLIC},
        {"198.18.0.0", ADDRESS_RESERVED},
        {"198.19.255.255", ADDRESS_RESERVED},
        {"198.20.0.0", ADDRESS_PUBLIC},
        {"198.51.100.1", ADDRESS_RESERVED},
        {"203.0.113.255", ADDRESS_RESERVED},
        {"223.255.255.255", ADDRESS_PUBLIC},
        {"224.0.0.1", ADDRESS_MULTICAST},
        {"239.255.255.255", ADDRESS_MULTICAST},
        {"240.0.0.0", ADDRESS_RESERVED},
        {"255.255.255.255", ADDRESS_RESERVED},
        {"::", ADDRESS_UNSPECIFIED},
        {"::1", ADDRESS_LOOPBACK},
        {"[::1]", ADDRESS_LOOPBACK},
        {"::2", ADDRESS_MAPPED},
        {"::7f00:1", ADDRESS_MAPPED},
        {"::ffff:127.0.0.1", ADDRESS_MAPPED},
        {"::ffff:8.8.8.8", ADDRESS_MAPPED},
        {"::1:0:0", ADDRESS_RESERVED},
        {"64:ff9b::8.8.8.8", ADDRESS_PUBLIC},
        {"64:ff9b::127.0.0.1", ADDRESS_LOOPBACK},
        {"64:ff9b::169.254.169.254", ADDRESS_METADATA},
        {"64:ff9b:1::8.8.8.8", ADDRESS_RESERVED},
        {"100::1", ADDRESS_RESERVED},
        {"1fff:ffff::", ADDRESS_RESERVED},
        {"2000::", ADDRESS_PUBLIC},
        {"2001::1", ADDRESS_RESERVED},
        {"2001:1ff::1", ADDRESS_RESERVED},
        {"2001:200::1", ADDRESS_PUBLIC},
        {"2001:4860:4860::8888", ADDRESS_PUBLIC},
        {"2001:db8::1", ADDRESS_RESERVED},
        {"2002:7f00:1::", ADDRESS_RESERVED},
        {"2606:4700::1111", ADDRESS_PUBLIC},
        {"3ffe:ffff::1", ADDRESS_PUBLIC},
        {"3fff::1", ADDRESS_RESERVED},
        {"3fff:1000::1", ADDRESS_PUBLIC},
        {"4000::", ADDRESS_RESERVED},
        {"5f00::1", ADDRESS_RESERVED},
        {"fc00::1", ADDRESS_PRIVATE},
        {"fd00:ec2::254", ADDRESS_METADATA},
        {"fd20:ce::254", ADDRESS_METADATA},
        {"fdff:ffff::1", ADDRESS_PRIVATE},
        {"fe00::1", ADDRESS_RESERVED},
        {"fe80::1", ADDRESS_LINK_LOCAL},
        {"febf::1", ADDRESS_LINK_LOCAL},
        {"fec0::1", ADDRESS_PRIVATE},
        {"ff02::1", ADDRESS_MULTICAST},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        AddressKind kind = classify(table[i].text);

        if (kind != table[i].kind)
            (void)fprintf(stderr, "%s is %s, not %s\n", table[i].text, address_kind_name(kind),
                          address_kind_name(table[i].kind));
        CHECK_INT(kind, ==, table[i].kind);
    }
}

TEST(address, that_is_no_address_of_the_internet_is_reserved)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/run/x"};

    CHECK_INT(address_classify((const struct sockaddr *)&local), ==, ADDRESS_RESERVED);
}

TEST(address, is_read_in_numbers_only)
{
    static const char *const other[] = {"",           "localhost",   "127.1",     "0x7f000001",
                                        "[]",         "[127.0.0.1]", "1.2.3.4.5", "[::1",
                                        "1.2.3.4/32", "::g"};
    struct sockaddr_storage address;

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        CHECK(!address_parse(other[i], &address));
}

TEST(address, is_allowed_when_public_or_named)
{
    CHECK(allows(NULL, "a.example", "8.8.8.8"));
    CHECK(!allows(NULL, "a.example", "127.0.0.1"));
    CHECK(!allows(NULL, "a.example", "::ffff:8.8.8.8"));
    CHECK(allows("127.0.0.1", "a.example", "127.0.0.1"));
    CHECK(!allows("127.0.0.1", "a.example", "127.0.0.2"));
    CHECK(!allows("127.0.0.1", "a.example", "::1"));
    CHECK(allows("10.0.0.0/8,fd00::/8", "a.example", "10.9.8.7"));
    CHECK(allows("10.0.0.0/8,fd00::/8", "a.example", "fd12::1"));
    CHECK(!allows("10.0.0.0/8,fd00::/8", "a.example", "192.168.0.1"));
    CHECK(allows("172.16.0.0/15", "a.example", "172.17.255.255"));
    CHECK(!allows("172.16.0.0/15", "a.example", "172.18.0.0"));
    CHECK(allows("0.0.0.0/0", "a.example", "127.0.0.1"));
    CHECK(!allows("0.0.0.0/0", "a.example", "::1"));
    CHECK(allows("farm", "FARM", "10.0.0.1"));
    CHECK(!allows("farm", "farm.evil.example", "10.0.0.1"));
    CHECK(!allows("farm", "evilfarm", "10.0.0.1"));
}

TEST(address, list_names_what_it_cannot_read)
{
    static const char *const wrong[] = {"",          "a,",        "10.0.0.0/33", "::/129",
                                        "10.0.0.0/", "10.0.0/8",  "1.2.3",       "a b",
                                        "http://a",  "*.example", "10.0.0.0/-1"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ConfigList items = {.count = 1, .item = {wrong[i]}};
        AllowList list;
        Error err = {0};

        CHECK_INT(allow_list_read(&items, &list, &err), ==, STATUS_INVALID);
        CHECK(strstr(err.message, "--notify-allow must name hosts, addresses or blocks") != NULL);
    }
}

/* --- the URL --- */

TEST(notify_url, is_taken_apart)
{
    static const struct {
        const char *text, *host, *place, *shown;
    } table[] = {
        {"https://Farm.Example/hook?token=secret#x", "farm.example", "farm.example:443",
         "https://Farm.Example/hook"},
        {"http://a:8000", "a", "a:8000", "http://a:8000/"},
        {"http://[::1]:8000/x", "[::1]", "[::1]:8000", "http://[::1]:8000/x"},
        {"HTTP://127.1/", "127.0.0.1", "127.0.0.1:80", "http://127.0.0.1/"},
        {"http://0x7f000001/", "127.0.0.1", "127.0.0.1:80", "http://127.0.0.1/"},
        {"http://2130706433/", "127.0.0.1", "127.0.0.1:80", "http://127.0.0.1/"},
        {"http://0177.0.0.1/", "127.0.0.1", "127.0.0.1:80", "http://127.0.0.1/"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        NotifyUrl url;
        const char *fault = notify_url_parse(table[i].text, &url);

        CHECK_EQUAL_TEXT(fault ? fault : "", "");
        CHECK_EQUAL_TEXT(url.host, table[i].host);
        CHECK_EQUAL_TEXT(url.place, table[i].place);
        CHECK_EQUAL_TEXT(url.shown, table[i].shown);
    }
}

TEST(notify_url, is_refused_in_words_that_do_not_quote_it)
{
    static const struct {
        const char *text, *fault;
    } table[] = {
        {"", "must be a whole URL"},
        {"a.example/hook", "must be a whole URL"},
        {"//a.example/", "must be a whole URL"},
        {"http://", "must be a whole URL"},
        {"http://a:99999/", "must be a whole URL"},
        {"http://a:x/", "must be a whole URL"},
        {"ftp://a.example/", "must begin with http:// or https://"},
        {"file:///etc/passwd", "must begin with http:// or https://"},
        {"gopher://a.example/", "must begin with http:// or https://"},
        {"http://me:secret@a.example/", "must not hold a user name or password"},
        {"http://me@a.example/", "must not hold a user name or password"},
        {"http://[fe80::1%25eth0]/", "must not name a zone"},
        {"http://a.example/\r\nX: y", "must be printable ASCII"},
        {"http://a.example/ b", "must be printable ASCII"},
        {"http://a.example/\xc3\xa4", "must be printable ASCII"},
        {"http://a.example/\x7f", "must be printable ASCII"},
        {"http://a b/", "must be printable ASCII"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        NotifyUrl url;
        const char *fault = notify_url_parse(table[i].text, &url);

        if (!fault || strncmp(fault, table[i].fault, strlen(table[i].fault)) != 0)
            (void)fprintf(stderr, "\"%s\": %s\n", table[i].text, fault ? fault : "no fault");
        CHECK(fault && strncmp(fault, table[i].fault, strlen(table[i].fault)) == 0);
    }
}

TEST(notify_url, is_refused_when_too_long)
{
    char text[NOTIFY_URL_MAX + 2];
    NotifyUrl url;

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "http://a.example/", 17);
    CHECK_EQUAL_TEXT(notify_url_parse(text, &url), "must have at most 2048 bytes");
    text[NOTIFY_URL_MAX] = '\0';
    CHECK(notify_url_parse(text, &url) == NULL);
}
