package config

import (
	"os"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestAnEditChangesTheLinesOfOneElementAndKeepsComments(t *testing.T) {
	const file = `# Our kitchen.
receiver: {listen: "127.0.0.1:8443"}   # spaces

venues:
- id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11 # at the service

  # what people say
  name: Harbour Grill
  hours: # lunch only
    - "mon-fri 11:30-14:30" # the kitchen closes at two
    - sat 12:00-15:00
  # end of the venue

printers:

    # The old one.
    -   name: grill
        address: "tcp://192.168.1.50:9100" # fixed in the router
        mac: 00:26:ab:12:34:56
        layout: {header: [number, table,
            time]
            }

    # The new one.
    - { name: bar, address: tcp://192.168.1.51 } # flow
routes: [ { to: [grill] } ]
fallback: grill # last line`
	for _, test := range []struct {
		name string
		edit func([]byte) ([]byte, error)
		want string // lines that differ
	}{
		{"a printer", func(b []byte) ([]byte, error) {
			return SetPrinter(b, "grill", "tcp://10.0.0.9", "epson-tm-t88", "")
		}, `
-    -   name: grill
-        address: "tcp://192.168.1.50:9100" # fixed in the router
-        mac: 00:26:ab:12:34:56
-        layout: {header: [number, table,
-            time]
-            }
+    - name: grill
+      address: "tcp://10.0.0.9" # fixed in the router
+      mac: ""
+      layout: {header: [number, table, time]}
+      profile: epson-tm-t88
`},
		{"a printer on one line", func(b []byte) ([]byte, error) {
			return SetPrinter(b, "bar", "tcp://192.168.1.51", "epson-tm-t88", "00:26:ab:12:34:57")
		}, `
-    - { name: bar, address: tcp://192.168.1.51 } # flow
+    - {name: bar, address: 'tcp://192.168.1.51', profile: epson-tm-t88} # flow
`},
		{"hours", func(b []byte) ([]byte, error) {
			return SetHours(b, "Harbour Grill", []string{"daily 17:00-23:00", "mon-wed,thu,fri 11:30-14:30"})
		}, `
-    - sat 12:00-15:00
-
+    - "daily 17:00-23:00"
`},
		{"somebody who is told", func(b []byte) ([]byte, error) {
			return AddRecipient(b, "Ann", "ntfy://ntfy.sh/x")
		}, `
+notify:
+  to:
+    - name: Ann
+      url: ntfy://ntfy.sh/x
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.edit([]byte(file))
			assert.NoError(t, err)
			wantSame(t, strings.TrimPrefix(test.want, "\n"), changedLines(file+"\n", string(got)))
		})
	}
}

func TestWhatWasAddedByAnEditIsRemovedByOne(t *testing.T) {
	shipped, err := os.ReadFile("../deploy/ticketrail.yaml")
	assert.NoError(t, err)
	for _, file := range []string{string(shipped), "fallback: x\nnotify:\nlog: {}\n", "fallback: x\nnotify: {}\n",
		"fallback: notify\n"} { // a station's name
		with, err := AddRecipient([]byte(file), "Ann", "ntfy://ntfy.sh/x")
		if err != nil {
			t.Fatalf("%v in:\n%s", err, file)
		}
		assert.Contains(t, string(with), "ntfy://ntfy.sh/x")
		_, err = AddRecipient(with, "Ann", "ntfy://ntfy.sh/y")
		assert.True(t, err != nil, "Ann is told twice")
		without, err := RemoveRecipient(with, "Ann")
		assert.True(t, err == nil && !strings.Contains(string(without), "Ann"), err, string(without))
		assert.Equal(t, strings.Count(string(without), "#"), strings.Count(file, "#"), "comments are gone",
			changedLines(file, string(without)))
	}
}

func TestAnEditThatWouldChangeMoreIsRefused(t *testing.T) {
	for file, want := range map[string]string{
		"":                          "only a person can change",
		"printers: [":               "only a person can change",
		"fallback: x\n":             `there is no "grill" in printers`,
		"printers: [ name: other ]": `there is no "grill" in printers`,
		"printers: [ {name: grill} ] #" + strings.Repeat("x", maxFile): "more than the 1048576 bytes",
	} {
		got, err := SetPrinter([]byte(file), "grill", "tcp://10.0.0.9", "epson-tm-t88", "")
		assert.True(t, err != nil && strings.Contains(err.Error(), want), file, string(got), err)
	}
	_, err := SetPrinter([]byte("printers: [ {name: grill, address: x} ]"), "grill", "file:///etc/passwd", "x", "")
	assert.True(t, err != nil && strings.Contains(err.Error(), "neither on the network nor on USB"),
		"a file is the address of a printer", err)
}

func FuzzAnEditKeepsWhatItIsNotAbout(f *testing.F) {
	checks, err := os.ReadFile("testdata/checks.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(checks), "\n\n") {
		f.Add(good + block)
	}
	f.Add("printers:\n-\n  name: grill\n  address: |\n    x\n  mac: >-\n   y\n")
	f.Add("printers: [ { name: grill, # a\n address: \"x\n y\" }, {name: bar} # b\n ] # c\nnotify: ~\n")
	f.Fuzz(func(t *testing.T, file string) {
		for _, edit := range []func([]byte) ([]byte, error){
			func(b []byte) ([]byte, error) { return SetPrinter(b, "grill", "tcp://h:1", "p", "m") },
			func(b []byte) ([]byte, error) { return SetHours(b, "Harbour Grill", []string{"daily 10:00-22:00"}) },
			func(b []byte) ([]byte, error) { return AddRecipient(b, "Ann", "ntfy://h/t") },
		} {
			got, err := edit([]byte(file))
			if err != nil {
				continue
			}
			again, err := edit(got)
			assert.True(t, err != nil || string(again) == string(got), "a second edit made another file of",
				string(got), string(again))
			for line := range strings.Lines(file) {
				assert.True(t, !strings.HasPrefix(line, "receiver:") || strings.Contains(string(got), line), line,
					string(got))
			}
		}
	})
}

// changedLines are the lines that only one of two texts has, as a difference of both.
func changedLines(was, is string) string {
	old, now := strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n")
	var out strings.Builder
	count := map[string]int{}
	for _, line := range now {
		count[line]++
	}
	for _, line := range old {
		if count[line]--; count[line] < 0 {
			out.WriteString("-" + line)
		}
	}
	clear(count)
	for _, line := range old {
		count[line]++
	}
	for _, line := range now {
		if count[line]--; count[line] < 0 {
			out.WriteString("+" + line)
		}
	}
	return out.String()
}
