package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test's own program be what a row starts as a process.
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if code, ok := bePart(ctx, os.Args[1:]); ok {
		os.Exit(code)
	}
	stop()
	os.Exit(m.Run())
}

func forTest(t *testing.T) *bench { return &bench{dir: t.TempDir(), quick: true, progress: io.Discard} }

func needsBrowser(t *testing.T) {
	t.Helper()
	if _, _, _, err := browserPrograms(); err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestATicketIsTimedUntilRealPagesHaveDrawnIt(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	f, err := forTest(t).show(t.Context(), showing{open: 5, pages: 2, orders: 5})
	if err != nil {
		t.Fatal(err)
	}
	v := f.Values
	if v["shown_p50"] <= 0 || v["both_p50"] < v["shown_p50"] || v["drawn_on_all_p50"] <= 0 {
		t.Error(f.Measured, v)
	}
}

func TestAnIdlePageStillCostsItsHeartbeats(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	f, err := forTest(t).idle(t.Context(), 5, 6*time.Second) // a heartbeat at least
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Values; v["sent_per_second"] <= 0 || v["received_per_second"] <= 0 {
		t.Error(f.Measured, v)
	}
}

func TestScreensAreWeighedWhileTicketsComeAndGo(t *testing.T) {
	t.Parallel()
	f, err := forTest(t).screens(t.Context(), 3, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Values; v["opened_mb"] <= 0 || v["most_mb"] < v["opened_mb"] || v["most_mb"] < v["worked_mb"] {
		t.Error(f.Measured, v)
	}
}
