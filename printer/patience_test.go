package printer_test

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

func TestTimeInWhichThePrinterNeedsAPersonIsNotThatOfTheSending(t *testing.T) {
	// The cover is open nearly as long as the sending may take, and closed when that time is over.
	o := virtual.Options{Can: virtual.Everything, Kanji: true, LinesPerSecond: 10, ReceiveBuffer: 64}
	withHarness(t, o, func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Timeout, o.PerKiB = 15*time.Second, time.Microsecond
	}, func(r *harness) {
		r.want("A1", "confirmed")
		later(500*time.Millisecond, func() { r.v.Set(virtual.CoverOpen, true) })
		later(14*time.Second+500*time.Millisecond, func() { r.v.Set(virtual.CoverOpen, false) })
		o := r.printWith(r.t.Context(), r.p, orderOfLines(40), nil)
		assert.True(t, o.kind() == "confirmed" && o.took >= 16*time.Second, o.kind(), o.took, o.err)
	})
}

// patience is how long the answer to a ticket that never comes is waited for, with a second for each byte.
func patience(t *testing.T, feed int, name string) (d time.Duration, bytes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := answering(func(c net.Conn, all string) {
			if !behind(all) {
				answersIDs(c, all)
			}
		})
		r := newHarness(t, nil, s, func(_ *printer.DeviceOptions, o *printer.Options) {
			o.PerKiB, o.Profile.FeedBeforeCut = 1024*time.Second, feed
			o.Layout.NameSize.Width, o.Layout.NameSize.Height = 1, 1
		})
		r.want("A1", "doubt")
		order := orderOfLines(10)
		for i := range order.Ticket.Lines {
			order.Ticket.Lines[i].Name = name
		}
		o := r.printWith(t.Context(), r.p, order, nil)
		assert.Equal(t, o.kind(), "doubt", o.err)
		_, err := fmt.Sscanf(o.err.Error(), "print on grill: %d of", &bytes)
		assert.Equal(t, err, nil, o.err)
		d = o.took
	})
	return d, bytes
}

func TestAnAnswerIsWaitedForAsLongAsItsLinesPrint(t *testing.T) {
	// Letters of two code pages in turn have several bytes each.
	many := strings.Repeat("éЖ", 20)
	short, fewer := patience(t, 0, strings.Repeat("éЖ", 15)+"eeeeeeeeee")
	long, more := patience(t, 0, many)
	assert.True(t, more >= fewer+200 && long-short <= 2*time.Second, fewer, short, more, long)
	few, bytes := patience(t, 0, "A1")
	d := few - time.Duration(bytes)*time.Second
	assert.True(t, d >= 0 && d <= time.Minute, "a second for each byte and half a minute", bytes, few)
	fed, _ := patience(t, 1, many)
	d = fed - long
	assert.True(t, d >= 60*time.Second && d <= 70*time.Second, d)
}

// pause is how long a printer that gives no answer and prints a line a second is given for a ticket.
func pause(t *testing.T, copies, feed int) (d time.Duration) {
	t.Helper()
	withHarness(t, virtual.Options{Kanji: true}, func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Copies, o.Profile.FeedBeforeCut, o.Profile.LinesPerSecond = copies, feed, 1
	}, func(r *harness) {
		r.wantFrom(r.p, orderOfLines(20), "sent")
		d = r.want("A2", "sent").took
	})
	return d.Round(time.Second)
}

func TestASilentPrinterIsGivenTheTimeOfEachCopyWithItsFeed(t *testing.T) {
	two, three := pause(t, 2, 0), pause(t, 3, 0)
	assert.True(t, two >= 40*time.Second && (3*two-2*three).Abs() <= 5*time.Second, two, three)
	assert.Equal(t, pause(t, 2, 5)-two, 10*time.Second, "for the feed of two copies")
}

func TestATicketSoundsOnceAndAsACancellationOnlyIfItOnlyCancels(t *testing.T) {
	line := func(voids ...bool) (l []ticket.Line) {
		for _, v := range voids {
			l = append(l, ticket.Line{Quantity: "2", Name: "A1", Void: v})
		}
		return l
	}
	const order, cancel = 2, 8 // the length of ESC B
	for name, c := range map[string]struct {
		change func(*ticket.Ticket)
		want   byte
	}{
		"an order":         {func(*ticket.Ticket) {}, order},
		"a void":           {func(k *ticket.Ticket) { k.Void = true }, cancel},
		"all lines voided": {func(k *ticket.Ticket) { k.Lines = line(true, true) }, cancel},
		"one line voided":  {func(k *ticket.Ticket) { k.Lines = line(true, false) }, order},
		"no lines":         {func(k *ticket.Ticket) { k.Lines, k.Notes = nil, []string{"hurry"} }, order},
	} {
		withHarness(t, answersAll(), func(_ *printer.DeviceOptions, o *printer.Options) {
			o.Profile.Buzzer, o.Copies, o.Buzz, o.BuzzVoid = profile.EscB, 2, 2, 2
		}, func(r *harness) {
			d := orderOf("A1")
			c.change(&d.Ticket)
			assert.Equal(t, r.printWith(r.t.Context(), r.p, d, nil).err, nil, name)
			synctest.Wait()
			var raw string
			for _, x := range r.v.Tickets() {
				raw += string(x.Raw)
			}
			i := strings.Index(raw, "\x1bB\x02")
			assert.True(t, i >= 0 && raw[i+3] == c.want && strings.Count(raw, "\x1bB") == 1, name, raw[max(i, 0):])
		})
	}
}

func TestAPrinterThatIsAskedNothingHasTheTimeOfEachChunkAndOfTheWholeTicket(t *testing.T) {
	stalls := func(after int) func(*virtual.Printer) {
		return func(v *virtual.Printer) { v.StallAfter(padding() + after) }
	}
	for name, c := range map[string]struct {
		lines  int
		breaks func(v *virtual.Printer)
		bytes  int // whose time it has; 0: all
	}{
		"it stops in a short ticket": {1, stalls(0), 0},
		"it stops in a longer one":   {10, stalls(0), 0},
		"it stops in a long one":     {1000, stalls(5000), 1024},
		"it only trickles":           {300, func(v *virtual.Printer) { v.Delay(700 * time.Millisecond) }, 0},
	} {
		o := virtual.Options{Kanji: true, LinesPerSecond: math.Inf(1)}
		withHarness(t, o, neverAsked, func(r *harness) {
			r.want("A1", "sent")
			time.Sleep(time.Minute) // it has printed that, as estimated
			c.breaks(r.v)
			o := r.printWith(r.t.Context(), r.p, order(c.lines), nil)
			r.v.Repair()
			time.Sleep(time.Hour) // it prints the bytes that it has taken
			assert.True(t, errors.Is(o.err, os.ErrDeadlineExceeded), name, o.err)
			sent, bytes := 0, c.bytes
			if bytes == 0 {
				_, _ = fmt.Sscanf(o.err.Error(), "print on grill: %d of %d bytes", &sent, &bytes)
			}
			want := 30*time.Second + time.Duration(bytes)*8*time.Second/1024
			assert.True(t, o.took == want, name, o.took, want)
		})
	}
	withHarness(t, virtual.Options{Kanji: true}, func(d *printer.DeviceOptions, o *printer.Options) {
		neverAsked(d, o)
		o.Profile.LinesPerSecond = 1
	}, func(r *harness) {
		r.v.Delay(time.Second)
		r.wantFrom(r.p, order(1000), "sent").within(r, 10*time.Minute, time.Hour)
		time.Sleep(time.Hour)
	})
}
