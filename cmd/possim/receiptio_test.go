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
	"runtime"
	"strings"
	"testing"
)

// receiptio is the path of a third-party printing program. It was written for real printers, so it
// tests whether the simulated one behaves like them. .ci/run installs it with npm.
func receiptio(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		program := filepath.Join(cache, "ticketrail", "receiptio", "node_modules", ".bin", "receiptio")
		if _, err = os.Stat(program); err == nil {
			_, err = exec.LookPath("node")
		}
		if err == nil {
			return program
		}
	}
	if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
		t.Fatalf("receiptio is missing and TICKETRAIL_TEST_ALL is set: %v", err)
	}
	t.Skipf("receiptio is missing; .ci/run installs it: %v", err)
	return ""
}

// Exit codes of receiptio.
const (
	rioSuccess = 0
	rioOnline  = 100
	rioCover   = 101
	rioPaper   = 102
	rioError   = 103
)

// runReceiptio runs it and returns its exit code.
func runReceiptio(t *testing.T, program string, args ...string) int {
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

// freeHost returns an address of this machine on which port 9100 is free: receiptio can use no other
// port, and all of 127.0.0.0/8 is this machine.
func freeHost(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address, where port 9100 may be in use")
	}
	for range 20 {
		host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
		if l, err := net.Listen("tcp", host+":9100"); err == nil {
			_ = l.Close()
			return host
		}
	}
	t.Fatal("no loopback address has port 9100 free")
	return ""
}

func TestReceiptioReportsTheConditionOfThePrinter(t *testing.T) {
	program := receiptio(t)
	for _, tt := range []struct {
		profile, condition string
		want               int
	}{
		{"epson-tm-t88", "", rioOnline},
		{"epson-tm-u220b", "", rioOnline},
		{"generic-80mm", "paper_low", rioOnline},
		{"epson-tm-t88", "paper_out", rioPaper},
		{"generic-80mm", "paper_out", rioPaper},
		{"epson-tm-t88", "cover_open", rioCover},
		{"generic-80mm", "cover_open", rioCover},
		{"epson-tm-t88", "cover_open,paper_out", rioCover},
		{"epson-tm-t88", "cutter_jam", rioError},
		{"epson-tm-t88", "unrecoverable", rioError},
	} {
		t.Run(tt.profile+"/"+tt.condition, func(t *testing.T) {
			host := freeHost(t)
			simulate(t, "--listen", host+":9100", "--profile", tt.profile, "--condition", tt.condition)
			if got := runReceiptio(t, program, "-d", host, "-q"); got != tt.want {
				t.Errorf("receiptio exits with %d, want %d", got, tt.want)
			}
		})
	}
}

func TestReceiptioPrints(t *testing.T) {
	program := receiptio(t)
	receipt := filepath.Join(t.TempDir(), "r.receipt")
	lines := "^^^KITCHEN\n\nTable 12 | 12:35\n---\n2 Burger | no onion\n1 Cr\u00e8me \u20ac5 | cold\n" +
		strings.Repeat("1 Soup | hot\n", 20) + "{c:0d9e1c52;o:qrcode,3,l}\n"
	if err := os.WriteFile(receipt, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"epson-tm-t88", "epson-tm-u220b", "generic-80mm"} {
		t.Run(profile, func(t *testing.T) {
			host := freeHost(t)
			s := simulate(t, "--listen", host+":9100", "--profile", profile, "--lines-per-second", "100")
			if got := runReceiptio(t, program, "-d", host, "-c", "42", receipt); got != rioSuccess {
				t.Errorf("receiptio exits with %d, want success", got)
			}
			for _, want := range []string{"KITCHEN", "2 Burger", "no onion", "1 Crème €5"} {
				s.shows(want)
			}
		})
	}
	t.Run("AndReportsThatThePaperEnded", func(t *testing.T) {
		host := freeHost(t)
		s := simulate(t, "--listen", host+":9100", "--profile", "epson-tm-t88", "--name", "grill")
		s.types("paper for 5", "grill: ready")
		if got := runReceiptio(t, program, "-d", host, "-c", "42", receipt); got != rioPaper {
			t.Errorf("receiptio exits with %d, want paper empty", got)
		}
	})
}
