package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"ticketrail/receiver/contract"
)

// An Output is where the tickets of the endpoint under test come out. Only they show
// whether an order that was answered 200 is cooked, and cooked once.
type Output struct {
	// Slips returns every ticket that came out so far. Required.
	Slips func(context.Context) ([]Slip, error)
	// Off switches the printer or display off and on. Stall lets it accept connections and do nothing
	// else. Nil: it cannot be done.
	Off, Stall func(on bool) error
	// Within is how long a ticket is waited for while no other comes. Quiet is for how long nothing
	// more must come, so that a second ticket is not missed. Defaults: 30 s and 2 s.
	Within, Quiet time.Duration
}

// A Slip is one ticket.
type Slip struct {
	Text     string // with a line break behind each line
	Pictures string // the dots of its pictures; empty: it has none
}

const (
	// mostWait is how long tickets are waited for in all, while others come.
	mostWait = time.Minute
	// countPause is between two looks at the output. A command to show it takes some time of its own.
	countPause = 200 * time.Millisecond
)

// A sentRequest has the records that were sent under one id.
type sentRequest struct {
	row      string
	records  []any
	accepted bool
	unsure   bool // an attempt has no answer, or one that says nothing about the order
	doubt    bool // it may come out twice
	lone     bool // nothing was out of order, and there was no burst
}

// expect remembers a request for the comparison with the paper; status 0 is no answer. A request that has
// no id was wrong on purpose, and nothing of it is expected.
func (t *tester) expect(request map[string]any, status int) {
	first, _ := Order{request: request}.first()
	id, _ := first[contract.FieldID].(string)
	if id == "" {
		return
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	sent := t.sent[id]
	if sent == nil {
		sent = &sentRequest{row: t.row, doubt: t.doubt, lone: !t.alone}
		t.sent[id] = sent
	}

	ok := status == 200 || status == 202
	if sent.records == nil || ok {
		sent.records, _ = request[contract.FieldRecords].([]any)
	}

	sent.accepted = sent.accepted || ok
	sent.unsure = sent.unsure || status == 0 || status >= 500
}

// A wanted is one line that must be on the paper.
type wanted struct {
	row, number, name, note string
	top                     string // the name of the item that it modifies; empty: it is an item
	quantity                int
	void                    bool
	lone                    bool
	min, max                int // how many requests had it: accepted ones, and those that may be

	folded string
	pages  []*sheet // that have it
	n      int      // how often they do
	drawn  bool     // they have a picture instead
}

// wanted lists the lines that must be on the paper, by number and name.
func (c *checker) wanted() []*wanted {
	c.mu.Lock()
	defer c.mu.Unlock()

	lines := map[[2]string]*wanted{}
	for _, s := range c.sent {
		for _, r := range s.records {
			record, _ := r.(map[string]any)
			number := fmt.Sprint(record[fieldNumber])
			var walk func(items any, top string)
			walk = func(items any, top string) {
				list, _ := items.([]any)
				for _, one := range list {
					it, _ := one.(map[string]any)
					name, _ := it[contract.FieldName].(string)
					if name == "" {
						continue // wrong on purpose
					}

					line := lines[[2]string{number, name}]
					if line == nil {
						line = &wanted{row: s.row, number: number, name: name, top: top, lone: s.lone,
							folded: fold(name)}
						lines[[2]string{number, name}] = line
					}

					line.quantity, _ = strconv.Atoi(fmt.Sprint(it[fieldQuantity]))
					line.note, _ = it[fieldNote].(string)
					if void, _ := it[contract.FieldIsVoid].(bool); void {
						line.void = true
					}

					if s.accepted {
						line.min++
					}

					switch {
					case s.doubt && (s.accepted || s.unsure):
						line.max += 1000
					case s.accepted || s.unsure:
						line.max++
					}

					walk(it[fieldChildren], cmp.Or(top, name))
				}
			}
			walk(record[fieldItems], "")
		}
	}

	return slices.SortedFunc(maps.Values(lines), func(a, b *wanted) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
}

// settle waits until all that was accepted came out, and then for a while, in which more may come. It
// gives up when no ticket has come for as long as one may take: a third of that and once only between
// two scenarios. It is waiting if tickets still came at the end.
func (c *checker) settle(atEnd bool) (waiting bool, err error) {
	if c.o.Output == nil {
		return false, nil
	}
	var k *comparison
	within, began := cmp.Or(c.o.Output.Within, 30*time.Second), time.Now()
	gaveUp := 0
	if !atEnd {
		within, gaveUp = within/3, c.gaveUp
	}

	last, lastAt := -1, began
	for {
		slips, err := c.o.Output.Slips(c.ctx)
		if err != nil {
			return false, err
		}

		if len(slips) != last {
			k, last, lastAt = c.compare(slips, false), len(slips), time.Now()
		}

		done := len(k.problems[lost]) <= gaveUp
		waiting = !done && time.Since(lastAt) < within
		if done || !waiting || time.Since(began) > mostWait || !sleep(c.ctx, countPause) {
			c.gaveUp = len(k.problems[lost])
			return waiting, nil
		}
	}
}

// paperRows are the rows about the paper, after everything was sent.
func (c *checker) paperRows() (all []row) {
	var k *comparison
	unseen := "nothing sees what comes out"

	if c.o.Output != nil {
		waiting, err := c.settle(true)
		if err == nil {
			sleep(c.ctx, cmp.Or(c.o.Output.Quiet, 2*time.Second))
			var slips []Slip
			if slips, err = c.o.Output.Slips(c.ctx); err == nil {
				k, unseen = c.compare(slips, true), ""
			}
		}

		switch {
		case err != nil:
			unseen = err.Error()
		case !k.legible && len(k.pages) > 0:
			unseen = fmt.Sprintf("%d tickets came out, and none has what was sent as text", len(k.pages))
		case waiting:
			unseen = fmt.Sprintf("tickets still come out after %s", mostWait)
		}
	}

	for kind, r := range [kinds][2]string{
		{"every order that was accepted", "comes out"},
		{"every order that was accepted", "does not come out twice"},
		{"orders that were refused", "never come out"},
		{"every name", "on the slip of its order"},
		{"names in four scripts", "in their letters, or drawn"},
		{"every quantity", "with its name"},
		{"every note", "with its item"},
		{"every modifier", "under its item"},
		{"every void", "unlike an order"},
		{"the order's number", "on each of its slips"},
	} {
		all = append(all, row{"6.4", "what comes out: " + r[0], r[1], true, func(*tester) (string, Verdict) {
			if unseen != "" {
				return unseen, Unseen
			}
			return k.result(kind)
		}})
	}
	return all
}
