package board

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ticketrail/deploy/slow"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// The environment of the process that is to be killed: where its queue is, and the job before its first.
const (
	killTestQueue = "BOARD_TEST_QUEUE"
	killTestFrom  = "BOARD_TEST_FROM"
)

func TestABoardKeepsItsPromisesAfterKill9(t *testing.T) {
	if path := os.Getenv(killTestQueue); path != "" {
		workUntilKilled(t, path)
		return
	}
	slow.Test(t)
	path := filepath.Join(t.TempDir(), "ticketrail.db")
	sure, tried := map[string]bool{}, map[string]bool{}
	for round := range 6 {
		from := 1_000_000 + 1000*round
		cook := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cook.Env = append(os.Environ(), killTestQueue+"="+path, killTestFrom+"="+strconv.Itoa(from))
		out, err := cook.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cook.Start(); err != nil {
			t.Fatal(err)
		}

		done := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch word, step, _ := strings.Cut(lines.Text(), " "); word {
			case "try":
				tried[step] = true
			case "did":
				sure[step] = true
				if done++; done == 20+7*round {
					_ = cook.Process.Kill()
				}
			default:
				t.Log(lines.Text())
			}
		}
		_ = cook.Wait()
		checkAfterKill(t, path, uint64(from), sure, tried)
	}
	if len(sure) < 80 {
		t.Errorf("only %d steps were done", len(sure))
	}
}

// workUntilKilled adds, shows, rescues, withdraws and bumps tickets. It prints each step before and
// after it.
func workUntilKilled(t *testing.T, path string) {
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, q.KV("board"))
	step := func(name string, job uint64, f func() error) {
		fmt.Println("try", name, job)
		if err := f(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("did", name, job)
	}
	from, _ := strconv.ParseUint(os.Getenv(killTestFrom), 10, 64)
	ctx := context.Background()
	for job := from + 1; job < from+200; job++ {
		step("put", job, func() error { return b.Put(ctx, order(job, "Burger", "Chips")) })
		step("done", job, func() error { _, err := b.Do(ctx, press(b, ItemDone, job, 1)); return err })
		rescue := func(dark bool) error {
			_, err := q.Rescue(ctx, "hot-line", "grill",
				slices.DeleteFunc(b.RescueCards(dark), func(c ticket.RescueCard) bool { return c.Job != job }))
			return err
		}
		step("rescue", job, func() error { return rescue(true) })
		if job%2 == 0 {
			step("back", job, func() error { return rescue(false) })
		}
		if job%3 == 0 {
			step("bump", job, func() error { _, err := b.Do(ctx, press(b, Bump, job, 0)); return err })
		}
	}
}

// checkAfterKill checks that the board has everything that was done for sure and nothing that was
// not tried.
func checkAfterKill(t *testing.T, path string, from uint64, sure, tried map[string]bool) {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := open(t, q.KV("board"))
	all, err := q.Jobs(t.Context(), queue.Filter{States: []ticket.State{ticket.Pending}})
	if n := q.Unaccounted(); n != 0 || err != nil {
		t.Errorf("%d jobs are unaccounted for, %v", n, err)
	}
	copies := map[uint64]int{}
	for _, j := range all {
		copies[j.MadeFrom]++
	}
	is := map[string]bool{}
	// For the next process the screen is dark: each card gets one copy, whichever step was cut off.
	var dark []ticket.RescueCard
	for _, c := range b.RescueCards(true) {
		id := fmt.Sprint(c.Job)
		is["rescue "+id], is["back "+id] = tried["rescue "+id], tried["back "+id]
		if n := copies[c.Job]; c.Job > from &&
			(n > 1 || n == 0 && sure["rescue "+id] && !tried["back "+id] || n == 1 &&
				(sure["back "+id] || !tried["rescue "+id])) {
			t.Errorf("card %s has %d copies", id, n)
		}
		if c.Ticket != nil {
			dark = append(dark, c)
		}
	}
	for range 2 {
		r, err := q.Rescue(t.Context(), "hot-line", "grill", dark)
		if len(r.Copies) != len(dark) || err != nil {
			t.Errorf("%d copies of %d cards, %v", len(r.Copies), len(dark), err)
		}
	}
	if _, err := q.Rescue(t.Context(), "hot-line", "grill", b.RescueCards(false)); err != nil {
		t.Error(err)
	}
	if s := q.Stations(); len(s) != 0 {
		t.Errorf("not all is taken back: %+v", s)
	}
	s := b.Snapshot()
	for _, o := range append(s.Orders, s.Recall...) {
		for _, c := range o.Tickets {
			is[fmt.Sprint("put ", c.Job)] = true
			is[fmt.Sprint("done ", c.Job)] = c.Items[1].Done
			is[fmt.Sprint("bump ", c.Job)] = c.State == Bumped
		}
	}
	for step := range sure {
		if !is[step] && len(s.Recall) < 50 {
			t.Errorf("%s was said and is lost", step)
		}
	}
	for step, done := range is {
		if done && !tried[step] {
			t.Errorf("%s was never tried", step)
		}
	}
}
