package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// replayFlags are the flags of possim replay.
type replayFlags struct {
	speed       float64
	newIDs      bool
	concurrency int
	retries     int
	ca          string
}

func replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE URL",
		Short: "Send a recorded evening again, with its timing",
		Long: `Send a recorded evening again, with its timing. FILE is what ticketrail jobs export writes, or -
for standard input: one JSON object a line, with at (RFC 3339), venue, device, and body (text) or
body_base64. Nothing is sent if a line cannot be read.

The bodies are sent as they are, with the ids they had: an endpoint that knows them prints nothing.
With --new-ids each id becomes another one, and what had the same id still has the same. Send to a
test box only: every order prints.`,
		Example: `  possim replay --speed 10 --new-ids friday.jsonl http://127.0.0.1:8443/webhooks/print`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{errors.New("give a file and the URL of one webhook")}
			}
			return oneURL(c, args[1:])
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], args[1], c.InOrStdin(), c.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.Float64Var(&f.speed, "speed", 1, "how many times as fast as it was, for example 10")
	fl.BoolVar(&f.newIDs, "new-ids", false, "give the requests new ids")
	fl.IntVar(&f.concurrency, "concurrency", 64, "how many orders may wait for an answer at once")
	retriesFlag(c, &f.retries)
	caFlag(c, &f.ca)
	return c
}

// A recordedOrder is a line of the file.
type recordedOrder struct {
	At     time.Time `json:"at"`
	Venue  string    `json:"venue"`
	Device string    `json:"device"`
	Body   *string   `json:"body"`
	Base64 []byte    `json:"body_base64"` // of a body that is not UTF-8
}

func (r recordedOrder) order() sim.Order {
	body := r.Base64
	if r.Body != nil {
		body = []byte(*r.Body)
	}
	return sim.FileOrder(body, r.Venue, r.Device)
}

// readRecorded reads a whole file, in the order of its times. A line that cannot be sent is an error:
// an evening of which a part is missing proves nothing.
func readRecorded(in io.Reader) (all []recordedOrder, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2*maxFile)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r recordedOrder
		err := json.Unmarshal(lines.Bytes(), &r)
		switch {
		case err != nil:
		case r.At.IsZero():
			err = errors.New("at: missing")
		case r.Venue == "" || r.Device == "":
			err = errors.New("venue or device: missing")
		case (r.Body == nil) == (r.Base64 == nil):
			err = errors.New("want either body or body_base64")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; nothing was sent", n, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w; nothing was sent", err)
	}
	if len(all) == 0 {
		return nil, errors.New("no orders")
	}
	slices.SortStableFunc(all, func(a, b recordedOrder) int { return a.At.Compare(b.At) })
	return all, nil
}

func (f *replayFlags) run(ctx context.Context, file, to string, in io.Reader, out io.Writer) error {
	// Written this way, because NaN fails every comparison.
	if !(f.speed > 0 && f.speed <= 1e6) {
		return usageError{fmt.Errorf("--speed: %v is out of range; use above 0, up to 1000000", f.speed)}
	}
	// The others are those of possim send.
	if err := (&sendFlags{concurrency: f.concurrency, retries: f.retries}).check(); err != nil {
		return err
	}
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		in = opened
	}
	all, err := readRecorded(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	t, err := transportFor(f.concurrency, f.ca, nil)
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	length := all[len(all)-1].At.Sub(all[0].At)
	fmt.Fprintf(out, "%d orders of %s, in %s\n", len(all), length.Round(time.Second),
		f.scaled(length).Round(time.Second))
	n, ids := 0, map[string]string{}
	log := slog.New(slog.NewTextHandler(out, nil))
	s := sim.Sender{URL: to, Transport: t, Retries: &f.retries, Logger: log}
	sum := s.Run(ctx, sim.Load{
		Next: func() sim.Order {
			n++
			o := all[n-1].order()
			switch {
			case !f.newIDs:
			case o.ID == "":
				log.Warn("sent as it was: it has no id", "at", all[n-1].At)
			default:
				ids[o.ID] = cmp.Or(ids[o.ID], uuid.NewString())
				o = o.WithID(ids[o.ID])
			}
			return o
		},
		Due:   func(n int) time.Duration { return f.scaled(all[n].At.Sub(all[0].At)) },
		Count: len(all), Concurrency: f.concurrency,
	})
	return finish(sum, len(all), out)
}

func (f *replayFlags) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / f.speed)
}
