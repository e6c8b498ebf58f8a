package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestAReplaySendsEveryOrderInTheOrderOfItsTime(t *testing.T) {
	to, came := webhook(t, 200)
	file := recorded(3, `"body":"{\"records\": [{\"id\":\"b\",\"price\":1.50,\"items\":[]}]}"`) + "\n" +
		recorded(1, `"body":"{\"records\": [{\"id\":\"a\",\"items\":[]}]}"`) +
		recorded(5, `"body_base64":"`+base64.StdEncoding.EncodeToString([]byte("\xff no JSON"))+`"`) +
		recorded(7, `"body":"{\"records\": [{\"id\":\"b\",\"price\":1.50,\"items\":[]}]}"`)
	code, out, errs := possim(t, file, "replay", "--speed", "1e6", "--concurrency", "1", "-", to)
	if got := came(); code != exitOK || !strings.Contains(out, "4 orders of 6s, in 0s\n") ||
		strings.Join(got, "|") != `v d {"records": [{"id":"a","items":[]}]}|`+
			`v d {"records": [{"id":"b","price":1.50,"items":[]}]}|`+"v d \xff no JSON|"+
			`v d {"records": [{"id":"b","price":1.50,"items":[]}]}` {
		t.Errorf("ends with %d, sends %q, says\n%s%s", code, got, out, errs)
	}
	// What had one id has one id again: it is the same order sent twice.
	code, out, errs = possim(t, file, "replay", "--speed", "1e6", "--concurrency", "1", "--new-ids", "-", to)
	got := came()
	if code != exitOK || len(got) != 4 || strings.Contains(strings.Join(got, ""), `"id":"b"`) || got[1] != got[3] ||
		!strings.Contains(got[1], "1.50") || got[2] != "v d \xff no JSON" ||
		!strings.Contains(out, `msg="sent as it was: it has no id" at=2026-11-20T19:00:05.000Z`) {
		t.Errorf("ends with %d, sends %q, says\n%s%s", code, got, out, errs)
	}
	refuses, _ := webhook(t, 400)
	if code, _, errs := possim(t, file, "replay", "--speed", "1e6", "-", refuses); code != exitFailed ||
		!strings.Contains(errs, "not all jobs were accepted") {
		t.Errorf("ends with %d, says %s", code, errs)
	}
}

func TestAReplayOfAFileThatCannotBeReadSendsNothing(t *testing.T) {
	to, came := webhook(t, 200)
	good := recorded(1, `"body":"{}"`)
	for file, want := range map[string]string{
		"":                             "no orders",
		good + "half a li":             "line 2",
		good + `{"body":"x"}`:          "line 2: at: missing",
		good + recorded(1, `"x":1`):    "want either body or body_base64",
		good + recorded(1, `"body":1`): "line 2",
		recorded(61, `"body":"{}"`):    "line 1",
		good + `{"at":"2026-11-20T19:00:00Z","body":"x"}`: "venue or device: missing",
	} {
		if code, _, errs := possim(t, file, "replay", "-", to); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%q: ends with %d, says %s", file, code, errs)
		}
	}
	if got := came(); got != nil {
		t.Errorf("sent %q", got)
	}
}

// recorded is a line of a recording.
func recorded(second int, body string) string {
	return fmt.Sprintf(`{"at":"2026-11-20T19:00:%02dZ","venue":"v","device":"d",%s}`+"\n", second, body)
}
