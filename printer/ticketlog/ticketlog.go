// Package ticketlog writes the tickets of a station to a file or to standard output, each as one line of JSON: for
// whoever keeps a record of the kitchen's tickets, or shows tickets with tools of their own.
//
// The lines are documents of the package push, with two fields more: see [Entry].
package ticketlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"ticketrail/printer/push"
	"ticketrail/queue/ticket"
)

// Options configure a log: those with a key are an element of the list logs. Name and To are required.
type Options struct {
	Name string `mapstructure:"name"` // of the station
	// To is where tickets are written: file:///PATH, or stdout, which systemd puts into the journal.
	To         string `mapstructure:"to"`
	IncludeRaw bool   `mapstructure:"include_raw"` // has the daemon set Raw
	// Raw returns the original record of a delivery, which is written too. If it is nil, or returns nil, the line is
	// written without it.
	Raw    func(ctx context.Context, d ticket.Delivery) json.RawMessage `mapstructure:"-"`
	Stdout io.Writer                                                    `mapstructure:"-"` // nil: os.Stdout
}

// An Entry is written for one ticket. ID is the same at each attempt: a reader who finds it a second time has
// the ticket already.
type Entry struct {
	push.Document
	Attempt int `json:"attempt"` // 1 for the first
	// PossibleDuplicate: an earlier attempt, here or at another station, may have come out.
	PossibleDuplicate bool `json:"possible_duplicate"`
}

// A Log is a station that writes its tickets, one at a time. It is safe for concurrent use.
type Log struct {
	o  Options
	to file // "": standard output

	mu sync.Mutex // it may be the backup of several stations
}

const wanted = "want file:///var/log/ticketrail/tickets.jsonl or stdout"

// New checks To, and opens nothing.
func New(o Options) (*Log, error) {
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}

	log := &Log{o: o}
	to, err := url.Parse(o.To)

	switch {
	case o.To == "":
		return nil, errors.New("to: is missing; for example file:///var/log/ticketrail/tickets.jsonl")
	case err != nil:
		return nil, errors.New("to: not a URL; " + wanted)
	case o.To == "stdout":
	case to.Scheme == "file" && to.Host == "" && filepath.IsAbs(to.Path) && filepath.Clean(to.Path) == to.Path:
		log.to = file(to.Path)
	default:
		return nil, fmt.Errorf("to: %.100q is no place for tickets; %s", o.To, wanted)
	}
	return log, nil
}

// Idempotent reports that a line may be written again after an attempt that broke off: it has the same id, and says
// so.
func (*Log) Idempotent() bool { return true }

// Check says whether a ticket could be written now.
func (l *Log) Check(context.Context) error {
	if l.to == "" {
		return nil
	}
	return l.to.check()
}

// Pause is none: a log that cannot be written is tried again.
func (*Log) Pause() push.Pause { return push.Pause{} }

// EndPause has nothing to end.
func (*Log) EndPause() {}

// Run waits until ctx ends: nothing is kept open between tickets.
func (l *Log) Run(ctx context.Context) { <-ctx.Done() }

// Print writes one ticket. The proof is [ticket.Taken] if the file was synced, else [ticket.Sent]. An error before
// begin, or one that is [ticket.IsUntouched], says that nothing was written; any other leaves doubt, and the line comes
// once more with possible_duplicate.
func (l *Log) Print(
	ctx context.Context, d ticket.Delivery, begin func(context.Context) error,
) (ticket.Proof, error) {
	var raw json.RawMessage
	if l.o.Raw != nil {
		raw = l.o.Raw(ctx, d)
	}

	line, err := json.Marshal(Entry{push.NewDocument(d, raw), d.Attempt, d.Doubt})
	if err != nil {
		return "", ticket.Permanent(fmt.Errorf("compose line: %w", err))
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	line = append(line, '\n')
	if l.to != "" {
		return l.to.write(ctx, line, begin)
	}

	if err := begin(ctx); err != nil {
		return "", err
	}
	if _, err := l.o.Stdout.Write(line); err != nil {
		return "", fmt.Errorf("standard output: %w", err)
	}
	return ticket.Sent, nil // who reads it says nothing
}
