package config

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const good = `
venues:
  - { id: 6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
  - { name: grill, address: "tcp://192.168.1.50:9100" }
  - { name: bar, address: "file:///dev/usb/lp0", columns: 32, expire_after: 30m }
fallback: grill
`

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ticketrail.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantProblem loads good and more, and wants exactly one problem, wherever it is.
func wantProblem(t *testing.T, more, want string) {
	t.Helper()
	wantProblems(t, good+more, want)
}

func wantProblems(t *testing.T, text string, want ...string) {
	t.Helper()
	c, err := load(t, text)
	if c != nil {
		t.Errorf("%s\ngave a configuration", text)
	}
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		t.Fatalf("%s\ngave %v, want Problems", text, err)
	}
	var got []string
	for _, p := range ps {
		got = append(got, p.Path+": "+p.Msg)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", text, diff)
	}
}

// goodConfig is what good means.
func goodConfig() Config {
	c := Default()
	grill, bar := DefaultPrinter(), DefaultPrinter()
	grill.Name, grill.Address = "grill", "tcp://192.168.1.50:9100"
	bar.Name, bar.Address, bar.Columns, bar.ExpireAfter = "bar", "file:///dev/usb/lp0", 32, 30*time.Minute
	c.Printers = []Printer{grill, bar}
	c.Venues = []Venue{{ID: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", Name: "Harbour Grill",
		Timezone: "Australia/Melbourne"}}
	c.Fallback = "grill"
	return c
}

func diffConfig(want, got Config) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{}, Secret{}))
}

func TestKeysMissingInTheFileHaveTheirDefaults(t *testing.T) {
	for _, more := range []string{"", "receiver:\nstorage: ~\nlog: { level: null }\nservice: { token: }\nticket: " +
		"{ fields: }\nscreens:\n"} {
		if diff := diffConfig(goodConfig(), *mustLoad(t, good+more)); diff != "" {
			t.Errorf("%s\n%s", more, diff)
		}
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	_, err := Load("testdata/mistakes.yaml")
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if len(ps) < 15 {
		t.Errorf("%d problems, want at least 15", len(ps))
	}
	golden := "testdata/mistakes.golden"
	got := err.Error() + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	for i, p := range ps {
		if p.Line == 0 || i > 0 && p.Line < ps[i-1].Line {
			t.Errorf("line %d of %v: not in the order of the file", p.Line, p)
		}
	}
}

func TestAProblemNamesItsLineKeyAndElement(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(good, "columns: 32", "columns: 0",
			1): "line 6: printers[1] (bar).columns: 0 is not a width; use " +
			"48, 42 or 32",
		good + "kds: [ { name: a\n\n } ]\n": "line 8: " +
			"kds[0] (a).url: is missing; for example https://kds.example/api/tickets",
		good + "screens:\n - title: a\n": "line 9: " +
			"screens[0].name: is missing",
		good + "screens:\n - name: \"\\e[2J\"\n": `line 9: ` +
			`screens[0].name: "\x1b[2J" contains non-printable characters`,
		good + "routes:\n - to:\n   - bar\n   - gril\n": `line 11: ` +
			`routes[0].to[1]: there is no station "gril"; did you mean grill?`,
		good + "ticket:\n  fields:\n    name: [a]\n    name: [b]\n": "line 10: " +
			"ticket.fields.name: is defined twice, on lines 10 and 11",
		strings.Replace(good, "{ name: bar,", "{ name: bar, override: { cutter: none, dots: },",
			1): "line 6: printers[1] (bar).override.dots: is empty; remove the key to use the profile's value",
		strings.Replace(good, "fallback: grill\n", "",
			1): "fallback: is missing; set it to the station for items " +
			"that no route matches",
		strings.Replace(good, "fallback:", "fallbak:", 1): "line 7: fallbak: unknown key; did you mean fallback?",
	} {
		if _, err := load(t, text); errText(err) != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestInvalidYAMLIsReportedByLine(t *testing.T) {
	const beside = "look at the indentation, quotes and colons of this line and those beside it"
	for text, want := range map[string]string{
		"receiver:\n  path: /x\n\tschema: strict\n": "kitchen.yaml:3: is not YAML: found a tab character that " +
			"violates indentation; indent with spaces, " +
			"not tabs",
		"\tx: 1\n": "kitchen.yaml:1: is not YAML: found character that cannot start any token; indent with " +
			"spaces, not tabs",
		"a: 1\n b: 2\n":          "kitchen.yaml:2: is not YAML: mapping values are not allowed in this context",
		"x: 1\na: [1, 2\nb: 3\n": "kitchen.yaml:2: is not YAML: did not find expected ',' or ']'; " + beside,
		"x: 1\ny: 2\n- z\n":      "kitchen.yaml:3: is not YAML: did not find expected key; " + beside,
		"x: 1\nfoo\nbar: 1\n":    "kitchen.yaml:2: is not YAML: could not find expected ':'",
		"x: *nope\n": "kitchen.yaml: is not YAML: unknown anchor 'nope' referenced; " +
			"put a value that begins with * in quotes",
		"- a\n": "kitchen.yaml:1: expected keys with values, got a list",
		"a: 1\n---\nfallback: b\n": "kitchen.yaml:2: a second document begins here; put everything into one, " +
			"without ---",
	} {
		_, err := Parse("kitchen.yaml", []byte(text))
		if errText(err) != want {
			t.Errorf("%q:\n got %v\nwant %v", text, err, want)
		}
	}
}

func TestAMissingFileIsReportedWithAdvice(t *testing.T) {
	_, err := Load("/nowhere/ticketrail.yaml")
	if err == nil || err.Error() != "/nowhere/ticketrail.yaml: cannot be read: no such file or directory; create "+
		"it, or use another file with --config" {
		t.Errorf("got %v", err)
	}
	if _, err = Load("/dev/zero"); err == nil {
		t.Error("/dev/zero was read")
	}
}

func TestAnEmptyFileReportsWhatIsRequired(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}\n", "receiver:\n"} {
		wantProblems(t, text,
			"venues: there are no venues; configure at least one, or every request is refused with 403",
			"printers: there are no stations; configure at least one printer, screen, kds or log",
			"fallback: is missing; set it to the station for items that no route matches")
	}
}

func TestAnUnknownKeyIsAnErrorWithAHint(t *testing.T) {
	for more, want := range map[string]string{
		"storge: {}\n":  "storge: unknown key; did you mean storage?",
		"Storage: {}\n": "Storage: unknown key; did you mean storage?",
		"kdss: []\n":    "kdss: unknown key; did you mean kds?",
		"receiver: { tls: { cert: a } }\n": "receiver.tls.cert: unknown key; " +
			"known here: acme, cert_file, client_ca_file, key_file",
		"routes: [{ category: drinks, to: [bar] }]\n": "routes[0].category: unknown key; " +
			"known here: continue, to, venue, when",
		"log: { levle: info }\n":              "log.levle: unknown key; did you mean level?",
		"log: { level: info, level: warn }\n": "log.level: is defined twice, on lines 8 and 8",
		"\"log.level\": info\n":               `"log.level": unknown key`,
		"? [a]\n: b\n":                        "?: unknown key",
		"log: { <<: { level: warn } }\n":      `log."<<": unknown key`,
		"venus: &v [x, x]\n":                  "venus: unknown key; did you mean venues?",
		"fonts: &f []\n": "fonts: anchors and aliases (& and *) are not supported; " +
			"write the value out",
		"storage: &s {}\n": "storage: anchors and aliases (& and *) are not supported; " +
			"write the value out",
		"receiver: { headers: { Venue: x-v } }\n": "receiver.headers.Venue: unknown key; did you mean venue?",
	} {
		wantProblem(t, more, want)
	}
}

func TestAValueWithoutAUnitIsAnError(t *testing.T) {
	for more, want := range map[string]string{
		"receiver: { respond_within: \"5\" }\n": "receiver.respond_within: 5 has no unit; write 5s, 5m or 5h",
		"receiver: { respond_within: 0 }\n":     "receiver.respond_within: 0 has no unit; write 0s, 0m or 0h",
		"receiver: { respond_within: 5ns }\n": "receiver.respond_within: 5ns is less than 500ms; the service " +
			"gives up after 5s",
		"receiver: { respond_within: 6s }\n": "receiver.respond_within: 6s is more than 4.8s; the service gives " +
			"up after 5s",
		"receiver: { respond_within: soon }\n": `receiver.respond_within: "soon" is not a duration; for example ` +
			`4s, 2m or 72h`,
		"storage: { history_retention: -1h }\n": "storage.history_retention: -1h is less than 1h",
		"storage: { dedup_retention: [1h] }\n":  "storage.dedup_retention: expected a duration such as 4s, got a list",
		"receiver: { max_body: 1Mb }\n":         `receiver.max_body: "1Mb" is not a size; for example 512KiB or 1MiB`,
		"receiver: { max_body: 9999999999GiB }\n": `receiver.max_body: "9999999999GiB" is not a size; for ` +
			`example 512KiB or 1MiB`,
		"receiver: { max_body: 64MiB }\n": "receiver.max_body: 64MiB is not between 4KiB and 8MiB; " +
			"an order of 300 items has about 50KiB",
		"receiver: { max_body: 1GiB }\n": "receiver.max_body: 1GiB is not between 4KiB and 8MiB; " +
			"an order of 300 items has about 50KiB",
	} {
		wantProblem(t, more, want)
	}
}

func TestValuesThatYAMLReadsDifferentlyAreErrors(t *testing.T) {
	for more, want := range map[string]string{
		"receiver: { insecure: yes }\n":      `receiver.insecure: "yes" is neither true nor false`,
		"receiver: { insecure: 1 }\n":        `receiver.insecure: expected true or false, got "1"`,
		"storage: { max_backlog: 010 }\n":    `storage.max_backlog: "010" is not a whole number in plain digits`,
		"storage: { max_backlog: \"10\" }\n": `storage.max_backlog: expected a number, got "10"`,
		"storage: { max_backlog: 0 }\n":      "storage.max_backlog: 0 is not between 1 and 10000000",
		"service: { client_id: 12 }\n": `service.client_id: YAML does not read 12 as text; ` +
			`put it in quotes: "12"`,
		"fonts: a,b\n":                         `fonts: expected a list, got "a,b"; write it in [ ]`,
		"receiver: { max_connections: 1e3 }\n": `receiver.max_connections: "1e3" is not a whole number in plain digits`,
		"receiver: { insecure: \"true\" }\n":   `receiver.insecure: expected true or false, got "true"`,
		"receiver: { allow_from: [7, x] }\n":   "",
		"storage: { path: 2026-01-02 }\n": `storage.path: YAML does not read 2026-01-02 as text; put it in ` +
			`quotes: "2026-01-02"`,
		"ticket: { fields: { name: name } }\n": `ticket.fields.name: expected a list, got "name"; write [name]`,
		"ticket: { fields: { name: [] } }\n": "ticket.fields.name: has no paths; remove the field to use the " +
			"built-in ones",
		"ticket: { fields: { name: [a..b] } }\n": `ticket.fields.name[0]: "a..b" is not a dotted path; for ` +
			`example order.number`,
		"ticket: { fields: { name: [~] } }\n": "ticket.fields.name[0]: is empty",
		"ticket: { fields: [name] }\n": "ticket.fields: expected names of fields, each with a list of paths, got " +
			"a list",
	} {
		if want == "" { // an invalid element keeps its index
			wantProblems(t, good+more, `receiver.allow_from[0]: "7" is not a network; for example 192.168.1.0/24 `+
				`or 10.0.0.7`,
				`receiver.allow_from[1]: "x" is not a network; for example 192.168.1.0/24 or 10.0.0.7`)
			continue
		}
		wantProblem(t, more, want)
	}
}

func TestFieldNamesAndPathsKeepTheirCase(t *testing.T) {
	c := mustLoad(t, good+"ticket: { fields: { name: [displayName, item.Name], order_Number: [x], 12: [y], null: "+
		"[z] } }\n")
	want := map[string][]string{"name": {"displayName", "item.Name"}, "order_Number": {"x"}, "12": {"y"}, "null": {"z"}}
	if diff := cmp.Diff(want, c.Ticket.Fields); diff != "" {
		t.Error(diff)
	}
}

func TestALongListOfMistakesIsTruncated(t *testing.T) {
	var b strings.Builder
	for i := range 50_000 {
		b.WriteString("x")
		b.WriteString(strings.Repeat("y", i%40))
		b.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + ": 1\n")
	}
	_, err := Parse("f.yaml", []byte(b.String()))
	ps, ok := errors.AsType[Problems](err)
	if !ok || len(ps) != maxProblems+1 || ps[maxProblems].Path != "and more" {
		t.Errorf("%d problems", len(ps))
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	mistakes, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(mistakes)
	f.Add([]byte(good))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {a: b}\n: - c\n"))
	f.Add([]byte("receiver: { tls: { cert_file: /dev/zero, key_file: \"\\0\" } }\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yaml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("a configuration %v with an error %v", c, err)
		}
		if ps, ok := errors.AsType[Problems](err); err != nil && (!ok || len(ps) == 0) {
			t.Fatalf("an error that is not a Problems: %v", err)
		}
		if strings.ContainsAny(errText(err), "\x1b\x00\r") {
			t.Fatalf("control characters in %q", errText(err))
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
