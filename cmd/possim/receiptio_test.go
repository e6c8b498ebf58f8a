package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/slow"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

// Exit codes of receiptio.
const (
	rioSuccess = 0
	rioOnline  = 100
	rioCover   = 101
	rioPaper   = 102
	rioError   = 103
)

func TestReceiptioReportsTheConditionOfThePrinter(t *testing.T) {
	// receiptio was written for real printers, so it judges whether the simulated one behaves like them.
	receiptio := requireReceiptio(t)
	for _, tt := range []struct {
		profile, condition string
		want               int
	}{
		{"epson-tm-t88", "", rioOnline},
		{"epson-tm-u220b", "", rioOnline},
		{"generic-80mm", "paper_low", rioOnline},
		{"generic-80mm", "paper_out", rioPaper},
		{"epson-tm-t88", "cover_open,paper_out", rioCover},
		{"generic-80mm", "cover_open", rioCover},
		{"epson-tm-t88", "cutter_jam", rioError},
		{"epson-tm-t88", "unrecoverable", rioError},
	} {
		host := ownHost()
		start(t, "printer", "--listen", host+":9100", "--profile", tt.profile, "--condition", tt.condition)
		if got := receiptio("-d", host, "-q"); got != tt.want {
			t.Errorf("%s, %s: receiptio exits with %d, want %d", tt.profile, tt.condition, got, tt.want)
		}
	}
}

func TestReceiptioPrintsAndReportsThatThePaperEnded(t *testing.T) {
	receiptio := requireReceiptio(t)
	file := filepath.Join(t.TempDir(), "r.receipt")
	lines := "^^^KITCHEN\n\nTable 12 | 12:35\n---\n2 Burger | no onion\n1 Cr\u00e8me \u20ac5 | cold\n" +
		strings.Repeat("1 Soup | hot\n", 20) + "{c:0d9e1c52;o:qrcode,3,l}\n"
	must(t, os.WriteFile(file, []byte(lines), 0o600))

	for _, profile := range []string{"epson-tm-t88", "epson-tm-u220b", "generic-80mm"} {
		host := ownHost()
		s := start(t, "printer", "--listen", host+":9100", "--profile", profile, "--lines-per-second", "100")
		if got := receiptio("-d", host, "-c", "42", file); got != rioSuccess {
			t.Errorf("%s: receiptio exits with %d, want success", profile, got)
		}
		for _, want := range []string{"KITCHEN", "2 Burger", "no onion", "1 Crème €5"} {
			s.shows(want)
		}
	}

	host := ownHost()
	l, err := net.Listen("tcp", host+":9100")
	must(t, err)
	model, _ := profile.Lookup("epson-tm-t88")
	p := virtual.New(virtual.OptionsFor(model))
	p.PaperFor(5)
	go func() { _ = p.Serve(t.Context(), l) }()
	if got := receiptio("-d", host, "-c", "42", file); got != rioPaper {
		t.Errorf("receiptio exits with %d, want paper empty", got)
	}
}

// requireReceiptio returns a function that runs receiptio, which .ci/run installs, and returns its exit code.
func requireReceiptio(t *testing.T) func(args ...string) int {
	t.Helper()

	cache, _ := os.UserCacheDir()
	program := filepath.Join(cache, "ticketrail", "receiptio", "node_modules", ".bin", "receiptio")
	slow.Test(t, "node", program)
	return func(args ...string) int {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), testTime)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			return exit.ExitCode()
		}
		if err != nil {
			t.Fatalf("receiptio %q: %v: %s", args, err, out)
		}
		return rioSuccess
	}
}

// ownHost is an address of this machine that no other test uses, for programs that need to know a port before anything
// listens there.
func ownHost() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}
