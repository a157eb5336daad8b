/*
 * Heads of requests as the listener reads them: what is one, what is none, and that no bytes at all
 * lead out of the buffer or to a head that another reader would read differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "server/net/guard.h"
#include "server/net/request_head.h"
#include "tests/random.h"

static head_status parse(const char *text, request_head *head)
{
    static char data[HEAD_BYTES + 1];
    size_t size = strlen(text);
    memcpy(data, text, size + 1);
    return head_parse(data, size, head);
}

static void a_head_is_cut_into_its_pieces(void **state)
{
    (void)state;
    request_head head;
    assert_int_equal(
        parse("POST /a?b HTTP/1.1\r\nHost:x\r\nX-Y:  a b \t\r\nHost: y\r\n\r\nbody", &head),
        HEAD_WHOLE);
    assert_string_equal(head.method, "POST");
    assert_string_equal(head.target, "/a?b");
    assert_int_equal(head.field_count, 3);
    assert_string_equal(head_find(&head, "host"), "x");
    assert_string_equal(head_find(&head, "x-y"), "a b");
    assert_int_equal(head_count(&head, "HOST"), 2);
    assert_null(head_find(&head, "Origin"));
    assert_string_equal(head.body, "body");
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: x\r\n", &head), HEAD_PARTIAL);
    assert_int_equal(parse("", &head), HEAD_PARTIAL);
}

static void what_two_readers_read_differently_is_no_head(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / x HTTP/1.1\r\n\r\n",
        "GET HTTP/1.1\r\n\r\n",
        " GET / HTTP/1.1\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\nOrigin: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\rOrigin: y\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nH\xc3\xb6st: x\r\n\r\n",
    };
    request_head head;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(parse(bad[i], &head), HEAD_BAD);
    char zero[] = "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n";
    assert_int_equal(head_parse(zero, sizeof zero - 1, &head), HEAD_BAD);
    char many[HEAD_BYTES + 1] = "GET / HTTP/1.1\r\n";
    for (int i = 0; i <= HEAD_FIELDS; i++)
        strcat(many, "a:b\r\n");
    assert_int_equal(parse(strcat(many, "\r\n"), &head), HEAD_MANY_FIELDS);
}

static void other_versions_are_told_apart(void **state)
{
    (void)state;
    request_head head;
    assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n", &head), HEAD_WHOLE);
    assert_true(head.old);
    assert_int_equal(parse("GET / HTTP/1.1\r\n\r\n", &head), HEAD_WHOLE);
    assert_false(head.old);
    assert_int_equal(parse("GET / HTTP/2.0\r\n\r\n", &head), HEAD_OTHER_VERSION);
    assert_int_equal(parse("GET / HTTP/1.2\r\n\r\n", &head), HEAD_OTHER_VERSION);
    assert_int_equal(parse("GET / HTTPS/1.1\r\n\r\n", &head), HEAD_BAD);
}

static void a_request_has_an_id(void **state)
{
    (void)state;
    char id[HEAD_REQUEST_ID + 1], other[HEAD_REQUEST_ID + 1];
    head_request_id("mine:1", id);
    assert_string_equal(id, "mine:1");
    head_request_id("two words", id);
    head_request_id(NULL, other);
    assert_int_equal(strlen(id), 16);
    assert_int_equal(strlen(other), 16);
    assert_string_not_equal(id, other);
}

static void lengths_and_senders_are_told_once(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } odd[] = {{"Content-Length ", "2"}, {"Content-Length", "+2"},          {"Content-Length", ""},
               {"Content-Length", NULL}, {"Transfer-Encoding", "xchunked"}, {"a b", "c"}};
    gw_guard guard;
    guard_init(&guard, "127.0.0.1", true);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        const char *detail;
        guard_head fields = {0};
        guard_head_add(&fields, "Host", "localhost:1");
        assert_int_equal(guard_head_ambiguous(&fields, &detail), 0);
        assert_int_equal(guard_head_sender(&guard, &fields, &detail), 0);
        guard_head_add(&fields, odd[i].name, odd[i].value);
        assert_int_equal(guard_head_ambiguous(&fields, &detail), 400);
    }
    guard_finish(&guard);
}

/* Bytes that matter to the reader, more often than others. */
static char a_byte(unsigned long long *seed)
{
    static const char common[] = "\r\n\r\n\r\n: \t:HTTP/1.1GETa\0";
    unsigned long long r = random_bits(seed);
    return r & 1 ? common[(r >> 8) % (sizeof common - 1)] : (char)(r >> 8);
}

static void no_bytes_lead_out_of_the_buffer(void **state)
{
    (void)state;
    static const char whole[] = "POST /api/v1/simulation/halt HTTP/1.1\r\nHost: localhost:8080\r\n"
                                "Origin: http://localhost\r\nContent-Length: 2\r\n\r\n{}";
    unsigned long long seed = 1;
    int heads = 0;
    for (int round = 0; round < 200000; round++) {
        request_head head;
        size_t size = 1 + random_bits(&seed) % (sizeof whole - 1);
        char *data = malloc(size + 1); /* of just that size: the sanitizer sees one byte more */
        memcpy(data, whole, size);
        for (int changes = (int)(random_bits(&seed) % 4); changes > 0; changes--)
            data[random_bits(&seed) % size] = a_byte(&seed);
        data[size] = 0;
        if (head_parse(data, size, &head) == HEAD_WHOLE) {
            heads++;
            assert_true(head.size <= size && head.body == data + head.size);
            assert_true(head.field_count <= HEAD_FIELDS && head.method[0] && head.target[0]);
            for (int i = 0; i < head.field_count; i++) {
                assert_true(head.field[i].name[0] && !strpbrk(head.field[i].name, " \t\r\n:"));
                assert_null(strpbrk(head.field[i].value, "\r\n"));
            }
        }
        free(data);
    }
    assert_true(heads > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_cut_into_its_pieces),
        cmocka_unit_test(what_two_readers_read_differently_is_no_head),
        cmocka_unit_test(other_versions_are_told_apart),
        cmocka_unit_test(a_request_has_an_id),
        cmocka_unit_test(lengths_and_senders_are_told_once),
        cmocka_unit_test(no_bytes_lead_out_of_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
