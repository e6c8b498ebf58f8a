package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/slow"
)

func TestEveryKeyOutsideListsCanBeSetInTheEnvironmentWhichOverridesTheFile(t *testing.T) {
	values := map[string]string{
		"receiver.listen": "127.0.0.2:1", "receiver.path": "/p", "receiver.insecure": "true",
		"receiver.headers.venue": "x-v", "receiver.headers.device": "x-d",
		"receiver.trusted_proxies": "127.0.0.0/8, ::1/128", "receiver.allow_from": "10.0.0.0/8",
		"receiver.max_body": "8KiB", "receiver.max_connections": "7",
		"receiver.schema": "strict", "receiver.conflict": "report",
		"receiver.external_url": "http://a.example", "receiver.respond_within": "1s",
		"receiver.tls.acme.directory": "https://ca.example.com/d",
		"fallback":                    "bar", "fonts": "/a.ttf, /b",
		"storage.path": "/s", "storage.copy": "/c", "storage.dedup_retention": "2h",
		"ticket.alarms":             "*allerg, -nut, bread",
		"ticket.silence":            "records.a, records.items.b",
		"storage.history_retention": "3h",
		"storage.max_backlog":       "9", "admin.socket": "/a", "metrics.listen": "127.0.0.1:2", "log.level": "debug",
		"log.format":     "json",
		"display.listen": "127.0.0.1:3", "display.insecure": "true", "display.language": "de",
		"display.places":      "fixed",
		"display.colours.red": "no, without", "display.colours.amber": "a", "display.colours.green": "extra",
		"display.colours.blue": "b", "display.colours.violet": "v",
		"service.insecure": "true", "service.timeout": "2s", "service.refresh": "1h", "service.token.path": "/t",
		"service.token.venue_param":     "v",
		"service.token.client_id_param": "i", "service.token.client_secret_param": "s",
		"service.token.format": "json", "service.token.field": "data.token",
		"service.token.auth_style": "header", "service.token.scopes": "checks:read, menu:read",
		"service.me.path": "/api/me", "service.labor.prefix": "/api",
		"service.employees.limit": "50", "service.employees.cursor": "header:X-C", "service.payroll.venue_param": "w",
		"notify.after": "1m", "notify.repeat": "3h", "notify.slip": "true", "outcomes.late_after": "5m",
		"source.url": "https://a.example", "source.token_file": "/none",
		"source.venue": "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11",
	}
	// These name files that must exist; they have tests of their own.
	files := []string{"receiver.secret_file", "receiver.tls.cert_file", "receiver.tls.key_file",
		"receiver.tls.client_ca_file", "receiver.tls.acme.name", "receiver.tls.acme.ca_file",
		"display.tls.cert_file", "display.tls.key_file",
		"service.base_url", "service.client_id", "service.client_secret_file",
		"outcomes.url", "outcomes.url_file", "outcomes.secret_file"}
	for k, v := range values {
		t.Setenv(EnvName(k), v)
	}
	for _, k := range Keys() {
		_, ok := values[k]
		if !ok && !slices.Contains(files, k) && !strings.Contains(k, "[]") && k != "ticket.fields" {
			t.Errorf("%s is not tested", k)
		}
	}
	got := mustLoad(t, good+"receiver: { respond_within: 3s, max_body: 2MiB }\nlog: { level: warn }\n")
	for _, k := range allKeys() {
		if want, ok := values[k.path]; ok {
			shown := strings.Trim(fmt.Sprint(k.value(got)), "[]")
			if d, isDuration := k.value(got).(time.Duration); isDuration {
				shown = short(d)
			}
			if shown != strings.ReplaceAll(want, ", ", " ") {
				t.Errorf("%s is %s, want %s", k.path, shown, want)
			}
		}
	}
}

func TestAnUnknownVariableWithOurPrefixIsAnError(t *testing.T) {
	for name, want := range map[string]string{
		"TICKETRAIL_RECIEVER_LISTEN":   "this variable sets no key; did you mean TICKETRAIL_RECEIVER_LISTEN?",
		"TICKETRAIL_PRINTERS":          "this variable sets no key; printers can only be set in the file",
		"TICKETRAIL_PRINTERS_0_NAME":   "this variable sets no key; printers can only be set in the file",
		"TICKETRAIL_TICKET_FIELDS":     "this variable sets no key; ticket.fields can only be set in the file",
		"TICKETRAIL_WHATEVER_IT_MIGHT": "this variable sets no key",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "x")
			wantProblem(t, "", name+": "+want)
		})
	}
}

func TestVariablesOfOurOwnTestsAreIgnored(t *testing.T) {
	t.Setenv(slow.Switch, "1")
	mustLoad(t, good)
}

func TestAProblemFromTheEnvironmentNamesTheVariable(t *testing.T) {
	t.Setenv("TICKETRAIL_RECEIVER_RESPOND_WITHIN", "5")
	t.Setenv("TICKETRAIL_LOG_LEVEL", "loud")
	t.Setenv("TICKETRAIL_RECEIVER_ALLOW_FROM", "10.0.0.0/8, proxy")
	t.Setenv("TICKETRAIL_STORGE_PATH", "/x")
	// The file's values of these keys are ignored.
	_, err := load(t, good+"receiver: { respond_within: nonsense, allow_from: {} }\nlog: { level: [], level: ~ }\n")
	want := `TICKETRAIL_STORGE_PATH: this variable sets no key; did you mean TICKETRAIL_STORAGE_PATH?
TICKETRAIL_RECEIVER_ALLOW_FROM: receiver.allow_from[1]: "proxy" is not a network; for example 192.168.1.0/24 or 10.0.0.7
TICKETRAIL_RECEIVER_RESPOND_WITHIN: receiver.respond_within: 5 has no unit; write 5s, 5m or 5h
TICKETRAIL_LOG_LEVEL: log.level: "loud" is not one of debug, info, warn and error`
	wantSame(t, want, errText(err))
}

func TestAnEmptyVariableCountsAsNotSet(t *testing.T) {
	t.Setenv("TICKETRAIL_LOG_LEVEL", "")
	if c := mustLoad(t, good+"log: { level: warn }\n"); c.Log.Level != "warn" {
		t.Errorf("level %q", c.Log.Level)
	}
}
