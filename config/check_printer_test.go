package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/printer/layout"
)

// twoPrinters is a file with more about the first of two printers.
func twoPrinters(first, second string) string {
	return "venues: [{ id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: V, timezone: UTC }]\nprinters:\n" +
		"  - { name: p, address: \"tcp://h:1\", " + first +
		" }\n  - { name: q, address: \"tcp://h:2\", " + second + " }\nfallback: p\n"
}

func TestUnsetKeysOfAPrinterHaveTheirDefaults(t *testing.T) {
	dir := t.TempDir()
	c, err := Parse(filepath.Join(dir, "t.yaml"), []byte(twoPrinters(`confirm: status, linger: 0s, poll_every: 0s,
      wait_for_person: 1h, copies: 2, qr: true,
      buzzer: { void_times: 0 }, override: { cutter: none, dots: 512, code_pages: [CP437=0],
      invert: false },
      layout: { modifier_size: 1x1, header: [number], blank_lines: 1, footer: ["job {job}"] }`,
		"buzzer: , layout: ")+"fonts: [thai.ttf, /usr/share/fonts/lao.ttf]\n"))
	assert.NoError(t, err)
	want := DefaultPrinter()
	want.Name, want.Address = "p", "tcp://h:1"
	want.Confirm, want.Linger, want.PollEvery, want.WaitForPerson, want.Copies, want.QR = "status", 0, 0, time.Hour,
		2, true
	want.Buzzer.VoidTimes = 0
	want.Override = Override{"cutter": "none", "dots": 512, "code_pages": []any{"CP437=0"}, "invert": false}
	want.Layout.ModifierSize, want.Layout.BlankLines = layout.Size{Width: 1, Height: 1}, 1
	want.Layout.Header = []string{"number"}
	want.Layout.Footer = []string{"job {job}"}
	second := DefaultPrinter()
	second.Name, second.Address = "q", "tcp://h:2"
	wantSame(t, []Printer{want, second}, c.Printers)
	diff := cmp.Diff([]string{filepath.Join(dir, "thai.ttf"), "/usr/share/fonts/lao.ttf"}, c.Fonts)
	assert.True(t, diff == "", diff)
}

func TestAMACAddressIsReadInEveryNotation(t *testing.T) {
	for _, text := range []string{"00:26:ab:12:34:56", "00:26:AB:12:34:56", "00-26-AB-12-34-56", "0026.ab12.3456"} {
		c, err := Parse("t.yaml", []byte(twoPrinters("mac: "+text, `mac: ""`)))
		assert.NoError(t, err)
		got := c.Printers[0].MAC
		assert.True(t, got == "00:26:ab:12:34:56" && c.Printers[1].MAC == "", text, got, c.Printers[1].MAC)
	}
}
