package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"ticketrail/printer/escpos"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/queue/ticket"
)

// A figure is what one call of something costs.
type figure struct {
	took   samples // the mean of a call, of each of many short rounds
	allocs float64 // of a call
}

// each times f: many rounds of n calls, so that a round is short enough to fall between the
// moods of the machine and long enough for its clock.
func (b *bench) each(ctx context.Context, n int, f func()) (c figure, err error) {
	rounds := pick(b, 200, 40)
	for range n {
		f()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		began := time.Now()
		for range n {
			f()
		}
		c.took = append(c.took, time.Since(began)/time.Duration(n))
	}
	runtime.ReadMemStats(&after)
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(rounds*n)
	return c, nil
}

// encoding is row 9: from what the queue keeps to what goes over the wire.
func (b *bench) encoding(ctx context.Context) (finding, error) {
	p, ok := profile.Lookup("generic-80mm")
	if !ok {
		return finding{}, fmt.Errorf("no profile generic-80mm")
	}
	drawer, _ := raster.New(raster.Options{Fonts: raster.Installed()}) // without some fonts at worst
	eo := escpos.Options{Profile: p, Drawer: drawer, ASB: true, Buzz: 1}
	lo := layout.Options{Columns: p.Columns, Printer: "grill", Copy: 1, Copies: 1,
		Printable: func(s string) string { return escpos.PrintableWith(s, eo) }}
	d := twentyLines()
	lines := layout.ComposeWith(d, lo)
	t := escpos.EncodeTicket(lines, eo)
	if bytes.Contains(t.Body, []byte("\x1dv0")) {
		return finding{}, fmt.Errorf("a ticket of letters that the printer has is drawn as dots")
	}
	encode, err := b.each(ctx, 50, func() { escpos.EncodeTicket(lines, eo) })
	if err != nil {
		return finding{}, err
	}
	both, err := b.each(ctx, 20, func() { escpos.EncodeTicket(layout.ComposeWith(d, lo), eo) })
	if err != nil {
		return finding{}, err
	}
	e, all := encode.took, both.took
	return finding{
		Measured: fmt.Sprintf("p50 %s, p99 %s (%.0f allocations); composing it and then encoding it p50 %s, p99 %s (%.0f allocations); "+
			"%d items are %d lines of print and %d bytes",
			us(e.p50()), us(e.p99()), encode.allocs, us(all.p50()), us(all.p99()), both.allocs,
			len(d.Ticket.Lines), len(lines), len(t.Body)+len(t.Cut)),
		Values: map[string]float64{"encode_p50": millis(e.p50()), "encode_p99": millis(e.p99()), "encode_allocs": encode.allocs,
			"compose_and_encode_p50": millis(all.p50()), "compose_and_encode_p99": millis(all.p99()), "compose_and_encode_allocs": both.allocs},
		Hit: e.p50() <= 50*time.Microsecond,
	}, nil
}

// twentyLines is an order of twenty lines as Western kitchens get them: letters that the
// printer has, if it is told the right code page.
func twentyLines() ticket.Delivery {
	names := []string{"Steak frites", "Crème brûlée", "Jalapeño poppers", "Fish & chips", "Käsespätzle", "Caesar salad", "Burger, 180 g", "Smørrebrød"}
	changes := []string{"no onions", "medium rare", "sauce à part", "extra cheese (2 €)"}
	t := ticket.Ticket{
		V: ticket.Version, Venue: venueID, VenueName: "Harbour Grill", Device: deviceID, Request: exampleID, Number: "18", Table: "B10",
		Server: "Jonathan A.", Type: "Dine in", Guests: "4", Received: time.Date(2026, 2, 6, 10, 49, 0, 0, time.UTC), Zone: "Australia/Melbourne",
	}
	for i := range 20 {
		l := ticket.Line{Quantity: "2", Name: names[i%len(names)]}
		if i%2 == 1 {
			l = ticket.Line{Depth: 1, Quantity: "1", Name: changes[i/2%len(changes)]}
		}
		if i == 6 {
			l.Notes = []string{"allergy: nuts"}
		}
		t.Lines = append(t.Lines, l)
	}
	return ticket.Delivery{Job: 4711, Station: "grill", Attempt: 1, Ticket: t}
}

// A script is one for which printers have no letters.
type script struct {
	name   string
	letter func(*rand.Rand) rune
}

func scripts() []script {
	in := func(from, to rune) func(*rand.Rand) rune {
		return func(r *rand.Rand) rune { return from + r.Int32N(to-from+1) }
	}
	of := func(letters string) func(*rand.Rand) rune {
		all := []rune(letters)
		return func(r *rand.Rand) rune { return all[r.IntN(len(all))] }
	}
	return []script{
		{"Han", in(0x4e00, 0x9fa5)},
		{"Arabic", of("ابتثجحخدذرزسشصضطظعغفقكلمنهوي")},
		{"Thai", of("กขคงจชซญดตทธนบปพมยรลวสหอ")},
	}
}

// paperColumns and paperDots are those of 80 mm paper.
const paperColumns, paperDots = 48, 576

// rasterLine is row 10: a line of words that fills the paper. Kitchens repeat themselves, so
// most of their lines are made of words drawn before; what counts here is one that is not.
func (b *bench) rasterLine(ctx context.Context) (finding, error) {
	f := finding{Values: map[string]float64{}, Hit: true}
	var told []string
	for _, s := range scripts() {
		d, err := b.drawn(ctx, s)
		if err != nil {
			return finding{}, err
		}
		if len(d.new) == 0 {
			told = append(told, s.name+" needs a font that is not installed here")
			continue
		}
		told = append(told, fmt.Sprintf("%s p50 %s, p99 %s (the same line again p50 %s; the first after the start %s, the start itself %s)",
			s.name, us(d.new.p50()), us(d.new.p99()), us(d.again.p50()), ms(d.first), ms(d.open)))
		key := strings.ToLower(s.name)
		f.Values[key+"_p50"], f.Values[key+"_p99"] = millis(d.new.p50()), millis(d.new.p99())
		f.Values[key+"_again_p50"], f.Values[key+"_first"] = millis(d.again.p50()), millis(d.first)
		f.Hit = f.Hit && d.new.p50() <= 2*time.Millisecond
	}
	f.Measured = strings.Join(told, "; ")
	return f, nil
}

// drawn is how long the lines of a script took.
type drawn struct {
	open, first time.Duration // to look at the fonts; to load them and draw a line
	new, again  samples       // a line of new words; the same line a second time
}

func (b *bench) drawn(ctx context.Context, s script) (t drawn, err error) {
	began := time.Now()
	d, _ := raster.New(raster.Options{Fonts: raster.Installed()}) // without some fonts at worst
	t.open = time.Since(began)
	r := rand.New(rand.NewPCG(10, 20))
	if text := s.line(r); d.Printable(text) != text {
		return t, nil
	}
	for i := range pick(b, 1000, 200) + 1 {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		l := layout.Line{Spans: []layout.Span{{Text: s.line(r), Style: layout.Style{Bold: true}}}}
		began := time.Now()
		d.Line(l, paperColumns, paperDots)
		done := time.Now()
		d.Line(l, paperColumns, paperDots)
		if i == 0 {
			t.first = done.Sub(began)
			continue
		}
		t.new, t.again = append(t.new, done.Sub(began)), append(t.again, time.Since(done))
	}
	return t, nil
}

// line is words of two to six letters that fill the paper.
func (s script) line(r *rand.Rand) string {
	var b strings.Builder
	for {
		word := " "
		for range 2 + r.IntN(5) {
			word += string(s.letter(r))
		}
		if layout.Width(b.String()+word) > paperColumns {
			return strings.TrimSpace(b.String())
		}
		b.WriteString(word)
	}
}

// us writes a short duration as microseconds with three digits that count.
func us(d time.Duration) string {
	v := float64(d) / float64(time.Microsecond)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f µs", v)
	case v >= 10:
		return fmt.Sprintf("%.1f µs", v)
	}
	return fmt.Sprintf("%.2f µs", v)
}
