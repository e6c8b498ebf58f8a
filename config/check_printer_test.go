package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBackupsMustNotFormALoop(t *testing.T) {
	wantProblems(t, `
venues: [{ id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: V, timezone: UTC }]
printers:
  - { name: a, address: "tcp://h:1", backup: b }
  - { name: b, address: "tcp://h:2", backup: c }
  - { name: c, address: "tcp://h:3", backup: b }
  - { name: d, address: "tcp://h:4", backup: d }
fallback: a
`,
		"printers[1].backup: forms a loop: b → c → b",
		"printers[2].backup: forms a loop: c → b → c",
		`printers[3].backup: "d" cannot be its own backup`)
}

// twoPrinters is a file with more about the first of two printers.
func twoPrinters(first, second string) string {
	return "venues: [{ id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: V, timezone: UTC }]\nprinters:\n" +
		"  - { name: p, address: \"tcp://h:1\", " + first +
		" }\n  - { name: q, address: \"tcp://h:2\", " + second + " }\nfallback: p\n"
}

func TestEveryKeyOfAPrinterIsChecked(t *testing.T) {
	for more, want := range map[string]string{
		"mac: 0026ab12": `mac: "0026ab12" is not a MAC address; write it as 00:26:ab:12:34:56; the printer's ` +
			"self-test page, its label and ticketrail printers discover show it",
		"mac: 00:26:ab:ff:fe:12:34:56": `mac: "00:26:ab:ff:fe:12:34:56" is not a MAC address; write it as ` +
			"00:26:ab:12:34:56; the printer's self-test page, its label and ticketrail printers discover show it",
		"mac: [a]":                   "mac: expected a MAC address such as 00:26:ab:12:34:56, got a list",
		`confirm: ""`:                `confirm: "" is not one of auto, process_id, status and none`,
		"connect_timeout: 61s":       "connect_timeout: 1m1s is more than 1m",
		"linger: 31s":                "linger: 31s is more than 30s; other clients of the printer wait that long",
		"linger: 0":                  "linger: 0 has no unit; write 0s, 0m or 0h",
		"poll_every: 1s":             "poll_every: 1s is less than 10s; 0s turns polling off",
		"wait_for_person: 0s":        "wait_for_person: 0s is less than 1s",
		"copies: 0":                  "copies: 0 is not between 1 and 9",
		"buzzer: { times: 10 }":      "buzzer.times: 10 is not between 0 and 9",
		"buzzer: { void_times: -1 }": "buzzer.void_times: -1 is not between 0 and 9",
		"buzzer: 3":                  `buzzer: expected keys with values, got "3"`,
		"buzzer: { time: 1 }":        "buzzer.time: unknown key; did you mean times?",
		"qr: 1":                      `qr: expected true or false, got "1"`,
		"layout: { name_size: 9x1 }": `layout.name_size: "9x1" is not a size of letters; write width and height ` +
			`as 2x2, 1x1 to 8x8`,
		"layout: { modifier_size: [1, 2] }": "layout.modifier_size: expected a size of letters such as 2x2, " +
			"got a list",
		"layout: { header: [] }":               "layout.header: has no fields; remove the key to print all",
		"layout: { header: [table, table] }":   `layout.header[1]: "table" is listed twice`,
		"layout: { blank_lines: 6 }":           "layout.blank_lines: 6 is not between 0 and 5",
		"layout: { top_margin: 21 }":           "layout.top_margin: 21 is not between 0 and 20",
		"layout: { template_file: /dev/zero }": "layout.template_file: /dev/zero is not a regular file",
		"layout: { template_file: /x/y }": "layout.template_file: /x/y: no such file or directory; correct the " +
			"path or create the file",
		"layout: { uppercase: true }": "layout.uppercase: unknown key; did you mean upper_case?",
		"override: cutter":            `override: expected profile keys with values, got "cutter"`,
		"override: { cutter: }":       "override.cutter: is empty; remove the key to use the profile's value",
		"override: { cutter: &x none }": "override.cutter: anchors and aliases (& and *) are not supported; " +
			"write the value out",
		"override: { a: {b: {c: {d: {e: x}}}}}": "override.a.b.c.d.e: is nested deeper than any profile",
		"override: { feed_before_cut: 010 }": `override.feed_before_cut: "010" begins with 0, and YAML may read ` +
			`it as an octal number; write it without the 0`,
		"override: { cutter: none, cutter: x }": "override.cutter: is defined twice, on lines 3 and 3",
	} {
		wantProblems(t, twoPrinters(more, ""), "printers[0]."+want)
	}
}

func TestUnsetKeysOfAPrinterHaveTheirDefaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "head.tmpl"), []byte("{{define \"footer\"}}bye{{end}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Parse(filepath.Join(dir, "t.yaml"), []byte(twoPrinters(`confirm: status, linger: 0s, poll_every: 0s,
      wait_for_person: 1h, copies: 2, qr: true,
      buzzer: { void_times: 0 }, override: { cutter: none, dots: 512, code_pages: [{ Number: 16 }],
      when: 2026-01-02, invert: false },
      layout: { modifier_size: 1x1, header: [number], blank_lines: 1, template_file: head.tmpl }`,
		"buzzer: , layout: ")+"fonts: [thai.ttf, /usr/share/fonts]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultPrinter()
	want.Name, want.Address = "p", "tcp://h:1"
	want.Confirm, want.Linger, want.PollEvery, want.WaitForPerson, want.Copies, want.QR = "status", 0, 0, time.Hour,
		2, true
	want.Buzzer.VoidTimes = 0
	want.Override = Override{"cutter": "none", "dots": 512, "code_pages": []any{map[string]any{"Number": 16}},
		"when": "2026-01-02", "invert": false}
	want.Layout.ModifierSize, want.Layout.Header, want.Layout.BlankLines = Scale{1, 1}, []string{"number"}, 1
	want.Layout.TemplateFile, want.Layout.Template = filepath.Join(dir, "head.tmpl"), "{{define \"footer\"}}bye{{end}}"
	second := DefaultPrinter()
	second.Name, second.Address = "q", "tcp://h:2"
	if diff := cmp.Diff([]Printer{want, second}, c.Printers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "thai.ttf"), "/usr/share/fonts"}, c.Fonts); diff != "" {
		t.Error(diff)
	}
}

func TestAMACAddressIsReadInEveryNotation(t *testing.T) {
	for _, text := range []string{"00:26:ab:12:34:56", "00:26:AB:12:34:56", "00-26-AB-12-34-56", "0026.ab12.3456"} {
		c, err := Parse("t.yaml", []byte(twoPrinters("mac: "+text, `mac: ""`)))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Printers[0].MAC; got != "00:26:ab:12:34:56" || c.Printers[1].MAC != "" {
			t.Errorf("%s: %q %q", text, got, c.Printers[1].MAC)
		}
	}
}
