"""What schemathesis must be told about this interface."""

import schemathesis


@schemathesis.serializer("application/offset+octet-stream")
def as_bytes(ctx, value):
    """The bytes of a piece of an upload."""
    return value.encode() if isinstance(value, str) else value


@schemathesis.hook
def filter_case(context, case):
    """Unknown headers are no fault: HTTP wants them ignored."""
    return "x-schemathesis-unknown-property" not in {name.lower() for name in case.headers or {}}
