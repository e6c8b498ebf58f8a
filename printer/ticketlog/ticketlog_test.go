package ticketlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
)

func TestATicketIsOneLineOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tickets.jsonl")
	l := open(t, Options{To: "file://" + path,
		Raw: func(context.Context, ticket.Delivery) json.RawMessage { return []byte(`{"id":"x"}`) }})
	assert.NoError(t, l.Check(t.Context()))
	again := delivery(2)
	again.Attempt, again.Doubt = 3, true
	for _, d := range []ticket.Delivery{delivery(1), again} {
		p, begun, err := l.print(t.Context(), d)
		assert.True(t, p == ticket.Taken && begun, p, err)
	}
	got := lines(t, path)
	assert.Equal(t, len(got), 2)
	first, second := got[0], got[1]
	assert.True(t, first.Order.Number == "#1" && first.Lines[0].Name == "Crème brûlée\ufffd[2J", first)
	assert.True(t, !first.PossibleDuplicate && second.PossibleDuplicate && second.Attempt == 3, first, second)
	assert.Equal(t, string(second.Raw), `{"id":"x"}`)
	st, err := os.Stat(path)
	assert.True(t, err == nil && st.Mode().Perm()&0o007 == 0, "everybody can read it", err)
}

func TestALineThatWasCutOffIsFollowedByAWholeOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tickets.jsonl")
	assert.NoError(t, os.WriteFile(path, []byte(`{"version":1,"id":"7-`), 0o640))
	l := open(t, Options{To: "file://" + path})
	_, _, err := l.print(t.Context(), delivery(1))
	assert.NoError(t, err)
	got := lines(t, path)
	assert.True(t, len(got) == 1 && got[0].Job == 1, got)
}

func TestWhatIsNoFileKeepsTheTicketInTheQueueWithoutDoubt(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	assert.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "gone", "a.jsonl"): "no such file or directory; make the folder",
		pipe:                                  pipe + " is not a file",
		dir:                                   "is a directory",
	} {
		l := open(t, Options{To: "file://" + path})
		_, begun, err := l.print(t.Context(), delivery(1))
		assert.True(t, !begun && ticket.IsNotReady(err) && strings.Contains(err.Error(), want), path, begun, err)
		assert.True(t, path == dir || l.Check(t.Context()) != nil, path)
	}
}

func TestAFullDiskKeepsTheTicketInTheQueueWithoutDoubt(t *testing.T) {
	slow.Test(t, "root")
	dir := t.TempDir()
	assert.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"))
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "tickets.jsonl")
	l := open(t, Options{To: "file://" + path})
	written, broken := 0, 0
	for job := uint64(1); ; job++ {
		_, _, err := l.print(t.Context(), delivery(job))
		if err == nil {
			written++
			continue
		}
		if ticket.IsUntouched(err) && ticket.IsNotReady(err) && errors.Is(err, syscall.ENOSPC) {
			break
		}
		if broken++; broken > 1 { // the one that filled the disk was written in part
			t.Fatal(err)
		}
	}
	assert.NoError(t, os.Rename(path, path+".1"))
	got := lines(t, path+".1")
	assert.True(t, len(got) == written && written >= 10, written, len(got))
}

func TestNothingIsWrittenIfTheBeginningIsNotStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tickets.jsonl")
	var out strings.Builder
	for _, to := range []string{"file://" + path, "stdout"} {
		l := open(t, Options{To: to, Stdout: &out})
		failed := errors.New("the disk")
		_, err := l.Print(t.Context(), delivery(1), func(context.Context) error { return failed })
		assert.True(t, errors.Is(err, failed) && out.Len() == 0, to, err, out.String())
	}
	b, err := os.ReadFile(path)
	assert.True(t, err == nil && len(b) == 0, b, err)
}

func TestStandardOutputProvesOnlyThatTheTicketWasSent(t *testing.T) {
	var out strings.Builder
	l := open(t, Options{To: "stdout", Stdout: &out})
	p, _, err := l.print(t.Context(), delivery(1))
	assert.Equal(t, p, ticket.Sent, err)
	line, rest, ended := strings.Cut(out.String(), "}\n")
	assert.True(t, ended && !strings.Contains(line, "\n") && rest == "", out.String())
}

func TestAPlaceThatIsNoneIsRefused(t *testing.T) {
	for to, want := range map[string]string{
		"": "is missing", "/var/log/x": "no place", "file:x": "no place", "file://host/x": "no place",
		"file:///a/../b": "no place", "syslog://h": "no place", "stdout:": "no place", "\x00": "not a URL",
	} {
		_, err := New(Options{To: to})
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "to: "), to, err)
		assert.Contains(t, err.Error(), want)
	}
}

func TestAFileThatIsMovedAwayIsMadeAnew(t *testing.T) { // as logrotate does
	path := filepath.Join(t.TempDir(), "tickets.jsonl")
	l := open(t, Options{To: "file://" + path})
	for job := range uint64(3) {
		_, _, err := l.print(t.Context(), delivery(job))
		assert.NoError(t, err)
		got := lines(t, path)
		assert.True(t, len(got) == 1 && got[0].Job == job, got)
		assert.NoError(t, os.Rename(path, path+".1"))
	}
}

func delivery(job uint64) ticket.Delivery {
	return ticket.Delivery{Job: job, Attempt: 1, Station: "archive", Ticket: ticket.Ticket{
		Venue: "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", Request: fmt.Sprint("order ", job),
		Number: fmt.Sprint("#", job), Received: time.Unix(1_780_000_000, 0),
		Lines: []ticket.Line{{Quantity: "2", Name: "Crème brûlée\x1b[2J\n", Notes: []string{"no \"sugar\""}}},
	}}
}

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := New(o)
	assert.NoError(t, err)
	return l
}

// print prints a ticket and returns whether begin was called.
func (l *Log) print(ctx context.Context, d ticket.Delivery) (p ticket.Proof, begun bool, err error) {
	p, err = l.Print(ctx, d, func(context.Context) error { begun = true; return nil })
	return p, begun, err
}

func lines(t *testing.T, path string) (all []Entry) {
	t.Helper()
	b, err := os.ReadFile(path)
	assert.NoError(t, err)
	for text := range strings.Lines(string(b)) {
		var l Entry
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Logf("not a line: %q", text)
			continue
		}
		all = append(all, l)
	}
	return all
}
