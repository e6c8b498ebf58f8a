// Package daemon is what the two daemons have in common, the one on the box and the relay: the log, the listeners, the
// pages for monitoring, and the webhook's policy and certificate, made of the same sections of a configuration. So an
// operator who knows one knows the other.
package daemon

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/coreos/go-systemd/v22/journal"

	"ticketrail/printer/layout"
)

// clean removes control characters from a value of a log line: ids and device names come from the
// network, and a terminal that shows the log would act on them. The JSON handler does not escape DEL
// and the C1 control characters.
func clean(at slog.Attr) slog.Attr {
	switch at.Value.Kind() {
	case slog.KindString:
		at.Value = slog.StringValue(layout.Clean(at.Value.String()))
	// Errors quote ids, addresses and answers of printers.
	case slog.KindAny:
		if err, ok := at.Value.Any().(error); ok {
			at.Value = slog.StringValue(layout.Clean(err.Error()))
		}
	}
	return at
}

// NewLogger writes text or JSON lines to w; a nil w discards them. The journal gets the priority of each
// line, and no time, because it adds one itself.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	// Not JOURNAL_STREAM alone: a terminal that systemd started hands it on to every program in it.
	toJournal := false
	if w == os.Stderr {
		toJournal, _ = journal.StderrIsJournalStream()
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		if toJournal && at.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return clean(at)
	}}
	priorities := &priorityWriter{w: w}
	if toJournal {
		w = priorities
	}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	if toJournal {
		h = &journalHandler{h, priorities}
	}
	return slog.New(h)
}

// A journalHandler begins each line with its priority, as journald reads it from the output of a service
// (sd-daemon(3)). Without it every line would have the priority info, and `journalctl -p warning` would be
// empty.
type journalHandler struct {
	slog.Handler
	out *priorityWriter // to which Handler writes
}

func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	switch {
	case r.Level >= slog.LevelError:
		h.out.prefix = "<3>"
	case r.Level >= slog.LevelWarn:
		h.out.prefix = "<4>"
	case r.Level >= slog.LevelInfo:
		h.out.prefix = "<6>"
	default:
		h.out.prefix = "<7>"
	}
	return h.Handler.Handle(ctx, r)
}

func (h *journalHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return &journalHandler{h.Handler.WithAttrs(as), h.out}
}

func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{h.Handler.WithGroup(name), h.out}
}

// A priorityWriter puts a prefix before each line; the handlers of slog make one call of Write for each.
type priorityWriter struct {
	w      io.Writer
	mu     sync.Mutex // held from setting prefix to the end of Write
	prefix string
}

func (p *priorityWriter) Write(line []byte) (int, error) {
	_, err := p.w.Write(append([]byte(p.prefix), line...))
	return len(line), err
}
