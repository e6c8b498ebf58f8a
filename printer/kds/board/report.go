package board

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Report is how long the tickets of one day took. The day is the one of acceptance, in the kitchen's
// time zone.
type Report struct {
	Day  string // 2026-11-22
	Rows []ReportRow
}

// A ReportRow is about the tickets of a station: of the whole day, of one hour, or, if Item is set,
// about the lines of one item.
type ReportRow struct {
	Station string
	Hour    string // "19": accepted from 19:00 to 19:59; empty: the whole day
	Item    string // empty: whole tickets
	Count   int    // tickets, or lines of the item
	Seen    Spread // from acceptance until it was first on the visible sheet of a page
	Bumped  Spread // until the ticket was bumped, or the item ticked
	SentOut Spread // until its order left the pass
	// Late is how many of Judged were late. Judged are those that were shown and not printed instead, and not on hold.
	Late    int
	Judged  int
	Recalls int
}

// A Spread is two percentiles of durations, by nearest rank: P50 is the shortest of them that at
// least half of them do not exceed, P90 the shortest that at least nine tenths do not exceed. So each
// is the time of a real ticket. Both are zero if N is.
type Spread struct {
	N        int   // how many tickets came so far
	P50, P90 int64 // seconds
}

// NewReport computes the report of a day from its tickets. Hours are in zone.
func NewReport(day string, past []Past, zone *time.Location) Report {
	rows := map[ReportRow]*reportGroup{} // by Station, Hour and Item
	add := func(key ReportRow, p *Past, done int64) {
		row := rows[key]
		if row == nil {
			row = &reportGroup{ReportRow: key}
			rows[key] = row
		}
		row.add(p, done)
	}

	for i := range past {
		one := &past[i]
		add(ReportRow{Station: one.Station}, one, one.Bumped)
		hour := time.UnixMilli(one.Received).In(zone).Format("15")
		add(ReportRow{Station: one.Station, Hour: hour}, one, one.Bumped)
		for _, it := range one.Items {
			add(ReportRow{Station: one.Station, Item: it.Name}, one, it.Done)
		}
	}

	out := Report{Day: day, Rows: []ReportRow{}}
	for _, g := range rows {
		g.Seen, g.Bumped, g.SentOut = spread(g.seen), spread(g.bumped), spread(g.sentOut)
		out.Rows = append(out.Rows, g.ReportRow)
	}

	slices.SortFunc(out.Rows, func(a, b ReportRow) int {
		return cmp.Or(cmp.Compare(a.Station, b.Station), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Hour, b.Hour))
	})

	return out
}

// A reportGroup is a row with the durations that its percentiles are computed from.
type reportGroup struct {
	ReportRow
	seen, bumped, sentOut []int64 // milliseconds
}

// add counts a ticket, or one of its items that was done at done.
func (g *reportGroup) add(p *Past, done int64) {
	g.Count++
	g.Recalls += p.Recalls
	if !p.Paper && !p.Held {
		g.Judged++
		if p.Late {
			g.Late++
		}
	}

	for list, at := range map[*[]int64]int64{&g.seen: p.Seen, &g.bumped: done, &g.sentOut: p.SentOut} {
		if at != 0 {
			// The clock may have been set back in between.
			*list = append(*list, max(at-p.Received, 0))
		}
	}
}

// spread computes it from milliseconds.
func spread(d []int64) Spread {
	if len(d) == 0 {
		return Spread{}
	}
	slices.Sort(d)
	at := func(percent int) int64 { return (d[(len(d)*percent+99)/100-1] + 500) / 1000 }
	return Spread{N: len(d), P50: at(50), P90: at(90)}
}

// LateText is how many were late, for people: 2 (67 %). It is empty if none can be judged.
func (r ReportRow) LateText() string {
	if r.Judged == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%d %%)", r.Late, r.latePercent())
}

// latePercent is the share of late tickets, rounded. Judged is not 0.
func (r ReportRow) latePercent() int {
	return (r.Late*200 + r.Judged) / (2 * r.Judged)
}

// String is both percentiles for people, in minutes and seconds; empty if there are none.
func (s Spread) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%02d / %d:%02d", s.P50/60, s.P50%60, s.P90/60, s.P90%60)
}
