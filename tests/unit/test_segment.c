#include "server/jobs/segment.h"
#include "support/check.h"

/* What a reader at `offset` finds; only where it need not sleep. */
static SegmentLook look(Segments *segments, Segment *segment, int64_t offset, SegmentCursor *out)
{
    Waiter waiter = {.deadline_ns = INT64_MAX};

    *out = (SegmentCursor){.offset = offset};
    return segment_look(segments, segment, out, &waiter);
}

static Segment *acquire(Segments *segments, const char *job)
{
    Segment *segment = NULL;
    Error err = {0};

    CHECK_INT(segment_acquire(segments, job, &segment, &err), ==, STATUS_OK);
    return segment;
}

TEST(segment, is_one_for_all_who_ask_for_a_job)
{
    Segments segments;

    segments_init(&segments, NULL);
    Segment *first = acquire(&segments, "j_1");
    Segment *other = acquire(&segments, "j_2");
    CHECK(acquire(&segments, "j_1") == first);
    CHECK(other != first);
    segment_release(&segments, first);
    CHECK(acquire(&segments, "j_1") == first);
    segment_release(&segments, first);
    segment_release(&segments, first);
    segment_release(&segments, other);
    CHECK(segments.first == NULL);
    segments_destroy(&segments);
}

TEST(segment, shows_bytes_that_are_published_and_no_others)
{
    Segments segments;
    SegmentCursor cursor;

    segments_init(&segments, NULL);
    Segment *segment = acquire(&segments, "j_1");
    segment_begin(&segments, segment, 3);
    segment_publish(&segments, segment, 100);
    CHECK_INT(look(&segments, segment, 0, &cursor), ==, SEGMENT_DATA);
    CHECK_INT(cursor.end, ==, 100);
    CHECK_INT(cursor.attempt, ==, 3);
    CHECK_INT(look(&segments, segment, 99, &cursor), ==, SEGMENT_DATA);
    segments_end(&segments, "j_1");
    CHECK_INT(look(&segments, segment, 100, &cursor), ==, SEGMENT_ENDED);
    // what was published before the end is still read to its end
    CHECK_INT(look(&segments, segment, 99, &cursor), ==, SEGMENT_DATA);
    segment_release(&segments, segment);
    segments_destroy(&segments);
}

TEST(segment, begins_again_with_the_next_attempt)
{
    Segments segments;
    SegmentCursor cursor;

    segments_init(&segments, NULL);
    Segment *segment = acquire(&segments, "j_1");
    segment_begin(&segments, segment, 1);
    segment_publish(&segments, segment, 100);
    segments_end(&segments, "j_1");
    segments_reopen(&segments, "j_1");
    segment_begin(&segments, segment, 2);
    segment_publish(&segments, segment, 40);
    CHECK_INT(look(&segments, segment, 0, &cursor), ==, SEGMENT_DATA);
    CHECK_INT(cursor.attempt, ==, 2);
    CHECK_INT(cursor.end, ==, 40);
    segment_release(&segments, segment);
    segments_destroy(&segments);
}

TEST(segment, beats_once_an_interval)
{
    Segments segments;
    SegmentCursor cursor;
    int64_t now = time_steady_ns();

    segments_init(&segments, NULL);
    Segment *segment = acquire(&segments, "j_1");
    segments_tick(&segments, now + 2000000000, 1000000000);
    CHECK_INT(look(&segments, segment, 0, &cursor), ==, SEGMENT_BEAT);
    CHECK_INT(cursor.beat, ==, 1);
    segments_tick(&segments, now + 2500000000, 1000000000);
    CHECK_INT(segments.beat, ==, 1);
    segment_release(&segments, segment);
    segments_destroy(&segments);
}

TEST(segment, lets_nobody_sleep_once_it_is_shut)
{
    Segments segments;
    SegmentCursor cursor;

    segments_init(&segments, NULL);
    Segment *segment = acquire(&segments, "j_1");
    segments_shut(&segments);
    CHECK_INT(look(&segments, segment, 0, &cursor), ==, SEGMENT_CLOSING);
    segment_release(&segments, segment);
    segments_destroy(&segments);
}

TEST(segment, ends_of_jobs_that_nobody_follows_are_nothing)
{
    Segments segments;

    segments_init(&segments, NULL);
    segments_end(&segments, "j_none");
    segments_reopen(&segments, "j_none");
    CHECK(segments.first == NULL);
    segments_destroy(&segments);
}
