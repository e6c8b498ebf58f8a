package queue

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/queue/ticket"
)

// TestTheKitchenHoldsWhatWasWantedLast: bodies come under one id, with lines added, voided, changed and in another
// sequence, with new ids, again and late, over failed commits and restarts. The judge knows only the papers.
func TestTheKitchenHoldsWhatWasWantedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range rounds(40, 400) {
			changesOfOneRequest(t, rand.New(rand.NewPCG(seed, 1)))
		}
	})
}

func changesOfOneRequest(t *testing.T, r *rand.Rand) {
	q := start(t)
	defer q.stop()
	var sent []wanted
	kitchen := papers{}
	for n := range 12 {
		next := randomContent(r)
		known := slices.ContainsFunc(sent, func(w wanted) bool { return slices.Equal(w.texts(), next.texts()) })
		if len(sent) > 0 && (known || r.IntN(3) == 0) { // a retry, perhaps of an old content
			next, known = sent[r.IntN(len(sent))], true
		}
		if !known {
			sent = append(sent, next)
		}

		req := next.request(r, n)
		if r.IntN(4) == 0 {
			q.disk.willEnd([]commitResult{fails, failsButPersist, noSpace}[r.IntN(3)])
			_, _ = q.Accept(bg, req)
			q.waitForStorage()
			q.disk.clear()
		}
		got := q.accept(req)
		wantTrue(t, (got.Duplicate == (n > 0) || got.Duplicate) && (!known || got.Jobs == 0), got)
		if r.IntN(4) == 0 {
			q.killed()
		}
		for _, s := range []string{"bar", "grill"} {
			for q.station(s).Pending > r.IntN(3) {
				kitchen.take(t, s, q.print(s))
			}
		}
	}
	for _, s := range []string{"bar", "grill"} {
		for q.station(s).Pending > 0 {
			kitchen.take(t, s, q.print(s))
		}
	}
	got, want := kitchen.texts(), sent[len(sent)-1].texts()
	wantTrue(t, slices.Equal(got, want), got, want, sent)
}

func TestOnlyTheStationWhoseTicketDiffersGetsItAgain(t *testing.T) {
	q := start(t)
	r := dinner("a", "1Fish", "grill", "bar", "cold")
	q.accept(r)
	r = at(1, dinner("a", "1Fish", "grill", "bar"))
	r.Drafts[1].Ticket.Lines[0].Name, r.Body = "Beer", nil
	q.wantReceipt(r, ticket.Receipt{Duplicate: true, Conflict: true, Jobs: 2})
	q.wantPapers("grill", "#142: 1Fish")
	q.wantPapers("bar", "#142: 1Fish", "CHANGED – replaces #142 of 19:30 UTC #142: 1Beer")
	q.wantPapers("cold", "#142: 1Fish", "CHANGED – replaces #142 of 19:30 UTC #142: "+ticket.NothingListed)

	q.accept(at(2, dinner("a", "2Fish", "grill", "bar", "cold")))
	q.wantPapers("cold", "CHANGED – replaces #142 of 19:31 UTC #142: 2Fish")
}

func TestARetryAfterAReloadOfTheConfigurationPrintsNothing(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	r := dinner("a", "1Fish", "bar") // by another route
	r.Drafts[0].Ticket.Lines[0].Name = "FISH"
	q.wantDuplicate(r)

	r.ID, r.Content = "b", ticket.Digest{1}
	q.accept(r)
	r.Drafts[0].Ticket.Lines[0].Name, r.Body = "fish", []byte("with another retryCount")
	q.wantDuplicate(r)
	r.Content = ticket.Digest{2}
	q.wantReceipt(r, oneChanged)
}

func TestSeveralTicketsOfOneOrderAreReplacedTogether(t *testing.T) {
	q := start(t)
	two := func(minute int, lines ...string) ticket.Request {
		r := at(minute, dinner("a", strings.Join(lines, " "), slices.Repeat([]string{"grill"}, len(lines))...))
		for i, l := range lines {
			r.Drafts[i].Ticket.Lines = dinner("a", l, "grill").Drafts[0].Ticket.Lines
		}
		return r
	}
	q.accept(two(0, "1Fish", "1Pie"))
	q.accept(two(1, "1Fish", "2Pie"))
	q.wantDuplicate(two(2, "2Pie", "1Fish"))
	q.accept(two(3, "1Tea"))
	q.wantPapers("grill", "#142: 1Fish", "#142: 1Pie",
		"CHANGED (1 of 2) – replaces 2 tickets, #142 of 19:30 UTC #142: 1Fish",
		"CHANGED (2 of 2) – replaces 2 tickets, #142 of 19:30 UTC #142: 2Pie",
		"CHANGED – replaces 2 tickets, #142 of 19:31 UTC #142: 1Tea")
	for job := uint64(1); job <= 4; job++ {
		q.wantCopy(job, ReprintOptions{}, "1Tea")
	}
}

func TestAnOrderThatGetsAnotherNumberReplacesTheOldOne(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	r := at(1, dinner("a", "1Fish", "grill"))
	r.Drafts[0].Ticket.Number, r.Drafts[0].Ticket.Table, r.Body = "", "7", nil
	q.accept(r)
	r = at(2, dinner("a", "2Fish", "grill"))
	r.Drafts[0].Ticket.Number = ""
	q.accept(r)
	q.wantPapers("grill", "#142: 1Fish", "CHANGED – replaces #142 of 19:30 UTC Table 7: 1Fish",
		"CHANGED – replaces Table 7 of 19:31 UTC : 2Fish")
	q.accept(at(3, dinner("a", "3Fish", "grill")))
	q.wantPapers("grill", "CHANGED – replaces the ticket of 19:32 UTC #142: 3Fish")
}

func TestReportedContentPrintsOnlyIfAPersonPrintsIt(t *testing.T) {
	q := start(t)
	q.accept(dinner("a", "1Fish", "grill"))
	changed := at(1, dinner("a", "1Fish-", "grill"))
	changed.OnlyReportConflict = true
	q.wantReceipt(changed, ticket.Receipt{Duplicate: true, Conflict: true})
	q.wantDuplicate(changed)
	q.wantPapers("grill", "#142: 1Fish")

	changed.OnlyReportConflict, changed.PrintEvenIfReported = false, true
	q.wantReceipt(changed, oneChanged)
	q.wantDuplicate(changed)
	first := dinner("a", "1Fish", "grill") // it was refused first, and then accepted
	first.PrintEvenIfReported = true
	q.wantDuplicate(first)
	q.wantPapers("grill", "CHANGED – replaces #142 of 19:30 UTC #142: 1Fish-")
}

// TestAChangeOfAnOldTicketNamesIt: its job is no longer in the history.
func TestAChangeOfAnOldTicketNamesIt(t *testing.T) {
	inBubble(t, func(_ *testing.T, q *testQueue) {
		q.accept(dinner("a", "1Fish", "grill", "bar"))
		q.print("grill")
		q.print("bar")
		time.Sleep(14 * time.Hour)
		q.accept(at(1, dinner("a", "2Fish", "grill")))
		q.wantPapers("grill", "CHANGED – replaces #142 of 19:30 UTC #142: 2Fish")
		q.wantPapers("bar", "CHANGED – replaces #142 of 19:30 UTC : "+ticket.NothingListed)
	}, func(o *Options) { o.HistoryRetention = 10 * time.Hour })
}

func TestWhatIsNotListedAnyMoreIsForgottenAtSomeTime(t *testing.T) {
	r := dedupRecord{shares: make([]share, maxGone+3)}
	r.shares[0].order, r.shares[1].said[0], r.shares[2].order, r.shares[3].order = "oldest", 1, "old", "kept"
	r.dropGone()
	wantEqual(t, len(r.shares), maxGone+1)
	wantTrue(t, r.shares[0].said[0] == 1 && r.shares[1].order == "kept", r.shares[:2])
}

// wanted is a content: each station's share of each order.
type wanted map[string]map[string]string // station → order → lines

func randomContent(r *rand.Rand) wanted {
	w := wanted{}
	for _, s := range []string{"bar", "grill"} {
		w[s] = map[string]string{}
		for _, number := range []string{"1", "2"} {
			var lines []string
			for range r.IntN(3) {
				line := fmt.Sprint(1+r.IntN(2), []string{"Fish", "Pie"}[r.IntN(2)], []string{"", "-"}[r.IntN(2)])
				lines = append(lines, line)
			}
			if slices.Sort(lines); len(lines) > 0 {
				w[s][number] = strings.Join(lines, " ")
			}
		}
	}
	if len(w["bar"])+len(w["grill"]) == 0 {
		w["bar"]["1"] = "1Tea"
	}
	return w
}

// texts are the words on the papers of the content, sorted.
func (w wanted) texts() (out []string) {
	for s, orders := range w {
		for number, lines := range orders {
			out = append(out, s+" #"+number+": "+lines)
		}
	}
	slices.Sort(out)
	return out
}

// request is the content as it comes at minute n, with ids of its own and its items in any sequence.
func (w wanted) request(r *rand.Rand, n int) ticket.Request {
	out := order("a")
	out.Body = fmt.Append(nil, "body ", n)
	for _, s := range []string{"grill", "bar"} {
		for _, number := range []string{"2", "1"} {
			if w[s][number] == "" {
				continue
			}
			d := dinner("a", w[s][number], s).Drafts[0]
			d.Ticket.Number, d.Ticket.Record = number, fmt.Sprint("record ", n)
			r.Shuffle(len(d.Ticket.Lines), func(i, j int) {
				l := d.Ticket.Lines
				l[i], l[j] = l[j], l[i]
			})
			out.Drafts = append(out.Drafts, d)
		}
	}
	return at(n, out)
}

// at is a request that comes some minutes later.
func at(minutes int, r ticket.Request) ticket.Request {
	r.Received = r.Received.Add(time.Duration(minutes) * time.Minute)
	for i := range r.Drafts {
		r.Drafts[i].Ticket.Received = r.Received
	}
	return r
}

// papers hang at the stations: by station and the name and time of the order.
type papers map[string]string

var replacesText = regexp.MustCompile(`^CHANGED – replaces (#.*) of (\d\d:\d\d UTC)$`)

// take hangs up a paper, and throws away those that it replaces.
func (p papers) take(t *testing.T, station string, d ticket.Delivery) {
	for _, head := range d.Ticket.Heads() {
		m := replacesText.FindStringSubmatch(head)
		wantTrue(t, m != nil, head)
		old := station + " " + m[1] + " " + m[2]
		wantTrue(t, p[old] != "", station, m[1], m[2], p)
		delete(p, old)
	}
	name := fmt.Sprint(station, " #", d.Ticket.Number, " ", ticket.Clock(d.Ticket.Received, ""))
	wantEqual(t, p[name], "", name)
	words := strings.Fields(lines(d))
	slices.Sort(words)
	p[name] = fmt.Sprint(station, " #", d.Ticket.Number, ": ", strings.Join(words, " "))
}

// texts are the dishes on the papers, sorted.
func (p papers) texts() (out []string) {
	for _, text := range p {
		if !strings.HasSuffix(text, ": ") { // nothing is listed
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// wantPapers prints all that waits at a station.
func (q *testQueue) wantPapers(station string, want ...string) {
	q.t.Helper()
	var got []string
	for q.station(station).Pending > 0 {
		got = append(got, paperText(q.print(station)))
	}
	wantTrue(q.t, slices.Equal(got, want), station, got, want)
}

func paperText(d ticket.Delivery) string {
	t := &d.Ticket
	words := append(t.Heads(), t.Order()+":")
	return strings.TrimSpace(strings.Join(append(append(words, strings.Fields(lines(d))...), t.Notes...), " "))
}
