# Counts the tests in a log of `ctest -V`: "passed failed skipped", then one line for each that did
# not pass. A suite of cmocka counts each of its tests, any other program counts once; a suite that
# ended badly without a failed test of its own (a crash, a leak, a time-out) counts as one failure.
{
    sub(/\r$/, "")
}
match($0, /^[0-9]+: /) {
    number = substr($0, 1, RLENGTH - 2)
    line = substr($0, RLENGTH + 1)
    if (line ~ /^\[ +OK \] /) {
        passed++
        has_tests[number] = 1
    } else if (line ~ /^\[ +SKIPPED *\] /) {
        name = line
        sub(/^[^\]]*\] */, "", name)
        has_tests[number] = 1
        if (name !~ /test\(s\)/ && !((number, name) in skip)) {
            skip[number, name] = 1
            skipped++
            notes = notes "  skipped " name (reason[number] ? " (" reason[number] ")" : "") "\n"
        }
    } else if (line ~ /^\[ +FAILED *\] /) {
        name = line
        sub(/^[^\]]*\] */, "", name)
        if (name !~ /test\(s\)/ && !((number, name) in fail)) {
            fail[number, name] = 1
            failed++
            has_tests[number] = 1
            has_failed[number] = 1
            notes = notes "  FAILED " name "\n"
        }
    }
    reason[number] = ""
    if (line ~ /^skipped: /)
        reason[number] = substr(line, 10)
    next
}
# " 3/17 Test  #3: test_json ....   Passed    0.34 sec"
match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
    head = substr($0, 1, RLENGTH)
    tail = substr($0, RLENGTH + 1)
    sub(/: $/, "", head)
    sub(/.*#/, "", head)
    split(tail, word, " ")
    if ($0 ~ /   Passed +[0-9.]+ sec/) {
        if (!has_tests[head])
            passed++
    } else if ($0 ~ /\*\*\*Skipped/) {
        skipped++
        notes = notes "  skipped " word[1] "\n"
    } else if (!has_failed[head]) {
        failed++
        notes = notes "  FAILED " word[1] "\n"
    }
}
END {
    printf "%d %d %d\n%s", passed, failed, skipped, notes
}
