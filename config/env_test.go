package config

import (
	"fmt"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestAKeyOutsideListsCanBeSetInTheEnvironmentWhichOverridesTheFile(t *testing.T) {
	values := map[string]string{ // of each type, and of a section that is another package's
		"receiver.path": "/p", "receiver.insecure": "true", "receiver.max_connections": "7",
		"receiver.max_body": "8KiB", "receiver.respond_within": "1s", "receiver.schema": "strict",
		"receiver.trusted_proxies": "127.0.0.0/8, ::1/128", "display.colours.red": "no, without",
		"fallback": "bar", "service.token.field": "data.token", "service.employees.limit": "50",
	}
	for k, v := range values {
		t.Setenv(EnvName(k), v)
	}
	got := mustLoad(t, good+"receiver: { respond_within: 3s, max_body: 2MiB }\n")
	for _, k := range allKeys() {
		if want, ok := values[k.path]; ok {
			shown := strings.Trim(fmt.Sprint(k.value(got)), "[]")
			assert.Equal(t, shown, strings.ReplaceAll(want, ", ", " "), k.path, want)
		}
	}
}

func TestVariablesOfOurOwnTestsAreIgnored(t *testing.T) {
	t.Setenv(slow.Switch, "1")
	mustLoad(t, good)
}

func TestAProblemFromTheEnvironmentNamesTheVariableAlsoOneThatIsUnknown(t *testing.T) {
	t.Setenv("TICKETRAIL_RECEIVER_RESPOND_WITHIN", "5")
	t.Setenv("TICKETRAIL_LOG_LEVEL", "loud")
	t.Setenv("TICKETRAIL_RECEIVER_ALLOW_FROM", "10.0.0.0/8, proxy")
	t.Setenv("TICKETRAIL_STORGE_PATH", "/x")
	// The file's values of these keys are ignored.
	_, err := load(t, good+"receiver: { respond_within: nonsense, allow_from: {} }\nlog: { level: [], level: ~ }\n")
	want := `TICKETRAIL_STORGE_PATH: this variable sets no key outside lists; did you mean TICKETRAIL_STORAGE_PATH?
TICKETRAIL_RECEIVER_ALLOW_FROM: receiver.allow_from[1]: "proxy" is not a network; for example 192.168.1.0/24 or 10.0.0.7
TICKETRAIL_RECEIVER_RESPOND_WITHIN: receiver.respond_within: 5 has no unit; write 5s, 5m or 5h
TICKETRAIL_LOG_LEVEL: log.level: "loud" is not one of debug, info, warn and error`
	wantSame(t, want, fmt.Sprint(err))
}

func TestAnEmptyVariableCountsAsNotSet(t *testing.T) {
	t.Setenv("TICKETRAIL_LOG_LEVEL", "")
	assert.Equal(t, mustLoad(t, good+"log: { level: warn }\n").Log.Level, "warn")
}
