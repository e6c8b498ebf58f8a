package main

import (
	"strings"
	"testing"

	"ticketrail/deploy/slow"
)

func TestACommandPrintsTheTickets(t *testing.T) {
	slow.Test(t, "sh")
	for command, want := range map[string]string{
		`printf '1 Soup\f2 Pie\f\n'`:           "",
		`printf '1 Soup\f2 Pie\f'; sleep 60 &`: "", // a process that the command leaves running
		"echo oops >&2; exit 3":                "oops",
	} {
		slips, err := ticketsCommand(command).Slips(t.Context())
		if want == "" && (err != nil || len(slips) != 2 || slips[1].Text != "2 Pie") ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", command, slips, err)
		}
	}
}
