package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// Fields of records and items, as deployed services send them; the contract does not state them.
const (
	fieldNumber   = "checkNumber"
	fieldQuantity = "quantity"
	fieldNote     = "note"

	fieldItems, fieldChildren = contract.FieldItems, contract.FieldChildItems
)

// What the scenarios send. A party is one order; offOrders come while the printer is off.
const (
	party       = 200
	offOrders   = 50
	offFor      = 10 * time.Second
	stalledFor  = 2 * time.Second
	floodPause  = 40 * time.Millisecond  // of each of eight senders between two orders
	floodMost   = 60                     // orders of each
	floodBefore = 300 * time.Millisecond // before the kill, so that it hits many orders at every stage
)

// A script is a writing system: a dish, a note, and the letters that end a name.
type script struct{ name, dish, note, letters string }

func scripts() []script {
	return []script{
		{"Latin", "Soupe à l’oignon brûlée", "très chaud, für Zoë", "BCDFGHJKLMNPQRSTVWXZ"},
		{"Greek", "Μουσακάς", "χωρίς κρεμμύδι", "ΒΓΔΖΘΚΛΜΝΞΠΡΤΦΧΨ"},
		{"Arabic", "شاورما دجاج", "بدون ثوم", "بتثجحدرزسصطعفقكلمن"},
		{"Chinese", "宫保鸡丁", "不要花生", "鸡鸭鱼肉牛羊米面饭汤茶酒豆菜花红白黑大小"},
	}
}

// unique is a text that is on no other slip: what ends in it and is cut off is noticed.
func (s script) unique(text string) string {
	letters, end := []rune(s.letters), make([]rune, 6)
	for i := range end {
		end[i] = pick(rng, letters)
	}
	return text + " " + string(end)
}

// rng is not from a seed: the names of two runs against the same endpoint must differ.
var rng = rand.New(lockedSource{})

type lockedSource struct{}

func (lockedSource) Uint64() uint64 { return rand.Uint64() }

func firstNumber() int { return 3000 + rng.IntN(5000) }

// item is a dish with a name of its own, and more than one of it, with these modifiers.
func item(name string, children ...map[string]any) map[string]any {
	it := map[string]any{contract.FieldName: scripts()[0].unique(name), fieldQuantity: 2 + rng.IntN(8)}
	if len(children) > 0 {
		it[fieldChildren] = list(children...)
	}
	return it
}

// modifier has the quantity 1, which many tickets do not show.
func modifier(name string, children ...map[string]any) map[string]any {
	it := item(name, children...)
	it[fieldQuantity] = 1
	return it
}

// with sets a field of an item.
func with(it map[string]any, field string, value any) map[string]any {
	it[field] = value
	return it
}

// dinner is a usual order: two dishes, one with modifiers, one with a note.
func (t *tester) dinner() Order {
	return t.newOrder(item("Burger", modifier("No onion"), modifier("Side salad", modifier("Vinaigrette"))),
		with(item("Soup"), fieldNote, scripts()[0].unique("cut in half")))
}

// plain is the request of a usual order.
func (t *tester) plain() webhookPost { return t.postOf(t.dinner()) }

// varied makes a usual order that is sent in another way.
func varied(change func(*webhookPost)) func(*tester) webhookPost {
	return func(t *tester) webhookPost {
		p := t.plain()
		change(&p)
		return p
	}
}

// changed is plain with one change of its content.
func (t *tester) changed(change func(request, record map[string]any)) webhookPost {
	o := t.dinner()
	change(o.request, o.request[contract.FieldRecords].([]any)[0].(map[string]any))
	return t.postOf(o)
}

const notDuplicate = "200 or 202, not as a duplicate"

// accepted is a row whose request is new and must be accepted: an endpoint that takes it for a duplicate
// loses the order.
func accepted(section, name string, build func(*tester) webhookPost) row {
	return row{section, name, notDuplicate, false, func(t *tester) (string, Verdict) { return t.sendNew(build(t)) }}
}

// sendNew sends a request that must not be taken for a duplicate.
func (t *tester) sendNew(p webhookPost) (string, Verdict) {
	r := t.send(p)
	dup, _ := r.duplicate()
	return r.String(), verdict(r.accepted() && !dup)
}

// refused is a row whose request must be answered with one of some statuses. Where the contract leaves
// a choice, such as 401 or 403 for a missing header, both are right.
func refused(section, name string, build func(*tester) webhookPost, statuses ...int) row {
	want := strings.ReplaceAll(strings.Trim(fmt.Sprint(statuses), "[]"), " ", " or ")
	return row{section, name, want, false, func(t *tester) (string, Verdict) {
		r := t.send(build(t))
		return r.String(), verdict(r.err == nil && slices.Contains(statuses, r.status))
	}}
}

// corrected is a row that sends a spoilt request first. It must leave nothing behind: if its id was
// remembered, the corrected order would be taken for a duplicate and never print.
func corrected(section, name string, spoil func(*webhookPost)) row {
	return accepted(section, name, func(t *tester) webhookPost {
		p := t.plain()
		first := p
		spoil(&first)
		t.send(first)
		return p
	})
}

// rows are all requirements that are tried, in their order. A usual order comes first: if that fails,
// the rest explains nothing.
func rows(o CheckOptions) []row {
	return slices.Concat(addressRows(), headerRows(o), bodyRows(), contentRows(), repeatRows(), scenarios(o))
}

// addressRows are section 6.1: address, method and media type.
func addressRows() []row {
	return []row{
		{"6.1", "the address is HTTPS", "https, or an address of this machine", true, (*tester).address},
		{"6.1", "an order", notDuplicate, true, func(t *tester) (string, Verdict) {
			t.first = t.plain()
			got, v := t.sendNew(t.first)
			t.broken = v == Fail
			return got, v
		}},
		// Many HTTP libraries add a charset by themselves.
		accepted("6.1", "an order whose Content-Type has parameters", varied(func(p *webhookPost) {
			p.contentType = contract.ContentType + "; charset=utf-8"
		})),
		// An endpoint that relies on Content-Length reads an empty body.
		accepted("6.1", "an order sent in chunks, without a Content-Length",
			varied(func(p *webhookPost) { p.chunked = true })),
		// A 2xx would say that an order was stored where there was none.
		{"6.1", "GET instead of POST", "not 2xx", false, func(t *tester) (string, Verdict) {
			p := t.plain()
			p.method, p.body = http.MethodGet, nil
			r := t.send(p)
			return r.String(), verdict(r.err == nil && r.status/100 != 2)
		}},
	}
}

// address is a row of its own because an endpoint under test is mostly on this machine, without a
// certificate.
func (t *tester) address() (string, Verdict) {
	u, err := url.Parse(t.o.URL)
	if err != nil {
		return "no URL", Fail
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	return u.Scheme, verdict(u.Scheme == "https" || ip.IsLoopback() || u.Hostname() == "localhost")
}

// headerRows are section 6.2: the headers that name the venue and the device.
func headerRows(o CheckOptions) []row {
	const venue, device = contract.HeaderVenue, contract.HeaderDevice
	unknown := func(p *webhookPost) { p.venue = []string{uuid.NewString()} }
	noDevice := func(p *webhookPost) { p.device = nil }

	// The contract lists 401 and 403 for headers (section 6.3), and asks for 403 only for an unknown
	// venue.
	all := []row{refused("6.2", venue+" of an unknown venue", varied(unknown), http.StatusForbidden)}
	for _, r := range []struct {
		name   string
		change func(*webhookPost)
	}{
		{"no " + venue, func(p *webhookPost) { p.venue = nil }},
		{"a blank " + venue, func(p *webhookPost) { p.venue = []string{""} }},
		{venue + " that is not a UUID", func(p *webhookPost) { p.venue = []string{"harbour-grill"} }},
		{"no " + device, noDevice},
		{"a blank " + device, func(p *webhookPost) { p.device = []string{""} }},
		{"neither header", func(p *webhookPost) { p.venue, p.device = nil, nil }},
	} {
		all = append(all, refused("6.2", r.name, varied(r.change), http.StatusUnauthorized, http.StatusForbidden))
	}
	all = append(all,
		// Names of headers are the same in any case (RFC 9110, section 5.1); HTTP/2 sends them in lower
		// case.
		accepted("6.2", "header names in capitals", varied(func(p *webhookPost) { p.upperCase = true })),
		corrected("6.2", "an order after it was refused for its venue", unknown),
		corrected("6.2", "an order after it was refused without its device", noDevice))
	for _, v := range o.Venues[1:] {
		other := varied(func(p *webhookPost) { p.venue = []string{v} })
		all = append(all, accepted("6.2", "an order of venue "+v, other))
	}
	return all
}

// bodyRows are section 6.3, status 400: the body is not JSON, or not a print request as in section 2.4.
func bodyRows() (all []row) {
	for _, r := range []struct {
		name  string
		spoil func([]byte) []byte
	}{
		{"half a body", func(b []byte) []byte { return b[:len(b)/2] }},
		{"no body", func([]byte) []byte { return nil }},
		{"a body that is not JSON", func([]byte) []byte { return []byte("<order><item>Burger</item></order>") }},
		// A parser that stops after the first value does not notice a body that was damaged on the way.
		{"text after the JSON", func(b []byte) []byte { return append(bytes.Clone(b), " and a beer"...) }},
		{"a list instead of an object", func(b []byte) []byte { return append(append([]byte("["), b...), ']') }},
		{"null", func([]byte) []byte { return []byte("null") }},
	} {
		all = append(all, refused("6.3", r.name, varied(func(p *webhookPost) { p.body = r.spoil(p.body) }),
			http.StatusBadRequest))
	}

	const records, id = contract.FieldRecords, contract.FieldID
	first := func(r map[string]any) map[string]any { return r[fieldItems].([]any)[0].(map[string]any) }
	for _, r := range []struct {
		name   string
		change func(request, record map[string]any)
	}{
		{"no records", func(q, _ map[string]any) { delete(q, records) }},
		{"records that are an object", func(q, r map[string]any) { q[records] = r }},
		{"records without a record", func(q, _ map[string]any) { q[records] = []any{} }},
		{"a record that is a string", func(q, _ map[string]any) { q[records] = []any{"Burger"} }},
		// Without an id a retry cannot be recognised: the order would be cooked four times.
		{"no records[0].id", func(_, r map[string]any) { delete(r, id) }},
		{"records[0].id that is a number", func(_, r map[string]any) { r[id] = 18 }},
		{"records[0].id that is empty", func(_, r map[string]any) { r[id] = "" }},
		{"no items", func(_, r map[string]any) { delete(r, fieldItems) }},
		{"items that are a string", func(_, r map[string]any) { r[fieldItems] = "Burger" }},
		{"an item that is a string", func(_, r map[string]any) { r[fieldItems] = []any{"Burger"} }},
		// A modifier that is dropped may be the allergy.
		{"childItems that are a string", func(_, r map[string]any) { first(r)[fieldChildren] = "no onion" }},
		{"a child that is a number", func(_, r map[string]any) { first(r)[fieldChildren] = []any{1} }},
		{"a fault three levels down", func(_, r map[string]any) {
			first(r)[fieldChildren] = list(modifier("Salad", with(modifier("Dressing"), fieldChildren, "none")))
		}},
	} {
		all = append(all, refused("6.3", r.name, func(t *tester) webhookPost { return t.changed(r.change) },
			http.StatusBadRequest))
	}
	return append(all, corrected("6.3", "an order after it was refused for its schema", func(p *webhookPost) {
		p.body = bytes.Replace(p.body, []byte(`"items":[`), []byte(`"items":"Burger","were":[`), 1)
	}))
}

// contentRows are requests that must be accepted whatever they contain: section 2.4 states only a
// few of the fields that services send.
//
// A receiver that refuses what it does not know loses every order on the day when the service adds
// a field.
func contentRows() (all []row) {
	for _, r := range []struct {
		name  string
		items func() []map[string]any
	}{
		// Real payloads have three levels; the contract sets no limit.
		{"modifiers eight levels deep", func() []map[string]any {
			it := modifier("level eight")
			for range 6 {
				it = modifier("level", it)
			}
			return []map[string]any{item("Burger", it)}
		}},
		// Services send null where there are no modifiers.
		{"childItems that are null", func() []map[string]any {
			return []map[string]any{with(item("Soup"), fieldChildren, nil)}
		}},
		// A message to the kitchen, or a check that is cancelled as a whole.
		{"a record without an item", func() []map[string]any { return nil }},
		{"a name of 70 letters", func() []map[string]any {
			return []map[string]any{item("Slow roasted shoulder of lamb with rosemary, garlic and potatoes")}
		}},
		{"keys that differ only in case", func() []map[string]any {
			it := with(with(item("Soup"), "NAME", "PLU"), "QUANTITY", "each")
			return []map[string]any{it}
		}},
		{"a refire", func() []map[string]any {
			return []map[string]any{with(with(item("Soup"), "isRefire", true), fieldNote, "was cold")}
		}},
		{fmt.Sprintf("a large party: %d items", party), func() (all []map[string]any) {
			for n := range party {
				it := item("Canape", modifier("No fish"))
				if n%10 == 0 {
					it[fieldNote] = scripts()[0].unique("no nuts for")
				}
				all = append(all, it)
			}
			return all
		}},
	} {
		all = append(all, accepted("6.3", r.name, func(t *tester) webhookPost {
			return t.postOf(t.newOrder(r.items()...))
		}))
	}
	return append(all,
		accepted("6.3", "unknown fields", func(t *tester) webhookPost {
			return t.changed(func(q, r map[string]any) {
				q["tide"], r["moon"] = map[string]any{"height": 1.5}, []any{"full", nil, true}
			})
		}),
		accepted("6.3", "two records", func(t *tester) webhookPost {
			return t.postOf(t.orderOf(t.newRecord(item("Steak")), t.newRecord(item("Lemonade"))))
		}),
		// Only the id says whether an order is new: what was sent before may never have arrived.
		accepted("6.3", "the third retry of an order whose first attempts were lost", varied(func(p *webhookPost) {
			p.body = bytes.Replace(p.body, []byte(`"retryCount":0`), []byte(`"retryCount":3`), 1)
		})))
}

// repeatRows are section 6.4: the same order more than once. Whether the endpoint printed it only once
// is seen on paper, and in its answers if they have a field "duplicate".
//
// The service repeats a request whenever it has no answer within 5 s, so on a bad network repeats
// are common.
func repeatRows() []row {
	const want = "200 or 202 each; new only once, if the answers say"
	return []row{
		{"6.4", "the same request twice", want, false, func(t *tester) (string, Verdict) {
			p := t.plain()
			return judgeRepeats(t.send(p), t.send(p))
		}},
		// The body differs from the first in bytes, so it must be recognised by its id.
		{"6.4", "retries: a higher retryCount, another timestamp", want, false, func(t *tester) (string, Verdict) {
			o := t.dinner()
			var all []reply
			for n := range contract.WebhookRetries + 1 {
				p := t.postOf(o)
				p.body = o.Body(n)
				all = append(all, t.send(p))
			}
			return judgeRepeats(all...)
		}},
		// At once, because an endpoint that looks the id up and stores it later accepts all of them as new.
		{"6.4", "the same request eight times at once", want, false, func(t *tester) (string, Verdict) {
			p, all := t.plain(), make([]reply, 8)
			var wg sync.WaitGroup
			for i := range all {
				wg.Go(func() { all[i] = t.send(p) })
			}
			wg.Wait()
			return judgeRepeats(all...)
		}},
		// What the service does after 5 s: the endpoint may have stored the order, but its answer was lost.
		{"6.4", "retries after hanging up before the answer",
			"200 or 202 each; the last a duplicate, if the answers say", false, func(t *tester) (string, Verdict) {
				o := t.dinner()
				p := t.postOf(o)
				t.sendAndHangUp(p)
				p.body = o.Body(1)
				second := t.send(p)
				p.body = o.Body(2)
				third := t.send(p)
				dup, seen := third.duplicate()
				return second.String() + "; " + third.String(),
					verdict(second.accepted() && third.accepted() && (dup || !seen))
			}},
		// The opposite mistake: recognising an order by its content. Two guests may order the same.
		accepted("6.4", "the same dishes and number under another id", func(t *tester) webhookPost {
			o := t.dinner()
			t.send(t.postOf(o))
			return t.postOf(o.WithID(uuid.NewString()))
		}),
	}
}

// judgeRepeats judges the answers to the same order sent several times. Each must accept it. If any
// answer has the field "duplicate", all but one must have the value true. An endpoint may leave the
// field out of the answer to the first. More than one new answer means a dinner cooked twice, none
// means one that is lost.
func judgeRepeats(all ...reply) (string, Verdict) {
	var words []string
	ok, said, first := true, 0, len(all)
	for _, r := range all {
		if s := r.String(); len(words) == 0 || words[len(words)-1] != s {
			words = append(words, s)
		}
		ok = ok && r.accepted()
		if dup, seen := r.duplicate(); seen {
			said++
			if dup {
				first--
			}
		}
	}
	if said == 0 {
		words = append(words, "the answers do not say which is a duplicate")
	}
	return strings.Join(words, "; "), verdict(ok && (said == 0 || first == 1))
}

// scenarios are what goes wrong in a kitchen, one after another.
func scenarios(o CheckOptions) []row {
	var off, stall func(bool) error
	if o.Output != nil {
		off, stall = o.Output.Off, o.Output.Stall
	}
	return []row{
		// 200 says that the order is stored, not that it is printed: a receiver that waits for the
		// printer loses orders while the printer has no paper.
		{"6.4", fmt.Sprintf("%d orders while the printer is off for %s", offOrders, offFor), "all accepted meanwhile",
			true, outOfOrder(off, offOrders, offFor)},
		{"6.4", "5 orders while the printer does not answer", "all accepted meanwhile", true,
			outOfOrder(stall, 5, stalledFor)},
		{"6.4", "orders while it is killed", "some accepted; it answers again", true, (*tester).killed},
		{"6.4", "the first order again after the restart", "accepted, as a duplicate if the answer says", true,
			(*tester).knowsAfterRestart},
		{"6.3", "orders in four scripts, and a void of each", "all accepted", true, (*tester).voids},
		{"6.1", fmt.Sprintf("a burst of %d orders, %d at a time", o.Burst, o.Concurrency),
			"all accepted, each new only once, each answer within " + contract.WebhookTimeout.String(), true,
			(*tester).burst},
	}
}

func outOfOrder(fault func(on bool) error, orders int, last time.Duration) func(*tester) (string, Verdict) {
	return func(t *tester) (string, Verdict) {
		if fault == nil {
			return "nothing can make it so", Unseen
		}
		t.doubt = true
		_, _ = t.settle(false)
		if err := fault(true); err != nil {
			return err.Error(), Unseen
		}

		rate := float64(orders) / last.Seconds()
		sum := t.load(0, Load{Next: t.dinner, Count: orders, Rate: rate, Concurrency: orders})
		sleep(t.ctx, last-sum.Elapsed)
		if err := fault(false); err != nil {
			return err.Error(), Unseen
		}
		return fmt.Sprintf("%d of %d accepted", sum.accepted(), orders), verdict(sum.Accepted())
	}
}

// killed kills the endpoint while many orders are sent: an endpoint that answers before it stores
// an order is somewhere in between for one of them. Every order that was accepted must come out.
// It may come out twice: what was being printed when it was killed is in doubt.
func (t *tester) killed() (string, Verdict) {
	if t.o.Restart == nil {
		return "nothing can restart it", Unseen
	}
	t.doubt = true
	_, _ = t.settle(false) // what came out before is not in doubt
	var stopped atomic.Bool
	var flood sync.WaitGroup
	var all atomic.Int32
	for range 8 {
		flood.Go(func() {
			for n := 0; n < floodMost && !stopped.Load() && sleep(t.ctx, floodPause); n++ {
				all.Add(int32(t.load(contract.WebhookRetries, Load{Next: t.dinner, Count: 1}).accepted()))
			}
		})
	}
	sleep(t.ctx, floodBefore)
	err := t.restart()
	stopped.Store(true)
	flood.Wait()
	if err != nil {
		return err.Error(), Unseen
	}
	return fmt.Sprintf("%d accepted", all.Load()), verdict(all.Load() > 0)
}

// restart restarts the endpoint and waits for up to a minute until it answers.
func (t *tester) restart() error {
	err := t.o.Restart(t.ctx)
	for range 600 {
		if err != nil {
			return err
		}
		// Any answer will do. This one leaves nothing behind.
		if _, _, err := (webhookPost{method: http.MethodGet}).exchange(t.ctx, t.o.Transport, t.o.URL); err == nil {
			t.restarted = true
			return nil
		}
		sleep(t.ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("it does not answer after the restart")
}

// knowsAfterRestart shows on paper whether the endpoint keeps what it knows: the first order came out
// long before the kill, so it must not come out again.
func (t *tester) knowsAfterRestart() (string, Verdict) {
	if !t.restarted {
		return "it was not restarted", Unseen
	}
	r := t.send(t.first)
	dup, seen := r.duplicate()
	return r.String(), verdict(r.accepted() && (dup || !seen))
}

// voids orders a dish in each script and then cancels it: a cook who is not told makes it.
func (t *tester) voids() (string, Verdict) {
	all := scripts()
	said, ok := make([]string, len(all)), true
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			it := map[string]any{
				contract.FieldName: s.unique(s.dish), fieldNote: s.unique(s.note), fieldQuantity: 3 + rng.IntN(7),
			}
			record := t.newRecord(it)
			ordered := t.send(t.postOf(t.orderOf(record)))
			it[contract.FieldIsVoid], record[contract.FieldID] = true, uuid.NewString()
			void := t.send(t.postOf(t.orderOf(record)))
			said[i] = fmt.Sprintf("%s: %s, the void %s", s.name, ordered, void)
			if !ordered.accepted() || !void.accepted() {
				t.mu.Lock()
				ok = false
				t.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return strings.Join(said, "; "), verdict(ok)
}

func (t *tester) burst() (string, Verdict) {
	sum := t.load(contract.WebhookRetries, Load{
		Next: t.dinner, Count: t.o.Burst, Concurrency: t.o.Concurrency, Duplicates: 0.1, Seed: rng.Uint64(),
	})
	round := func(p float64) time.Duration { return sum.Percentile(p).Round(10 * time.Microsecond) }
	got := fmt.Sprintf("%d of %d accepted, %d late, %d retries, p50 %s, p99 %s, slowest %s", sum.accepted(), sum.Jobs,
		sum.Late, sum.Retries, round(50), round(99), round(100))
	if sum.ReportsDuplicates {
		got += fmt.Sprintf(", %d new ones taken for duplicates, %d of %d duplicates taken for new",
			sum.FalseDuplicates, sum.MissedDuplicates, sum.Duplicates)
	}
	return got, verdict(sum.Accepted() && sum.Late == 0 &&
		(!sum.ReportsDuplicates || sum.FalseDuplicates+sum.MissedDuplicates == 0))
}

// totalRows are about all requests.
func totalRows() []row {
	return []row{
		{"6.3", "all of the above: the status", "only 200, 202, 400, 401, 403, 500, 502, 503, 504", true,
			func(t *tester) (string, Verdict) {
				if len(t.unknownStatuses) == 0 {
					return "only these", Pass
				}
				return "also " + strings.ReplaceAll(strings.Trim(fmt.Sprint(t.unknownStatuses), "[]"), " ", ", "), Fail
			}},
		{"6.1", "all of the above: the time", "each answer within " + contract.WebhookTimeout.String(), true,
			func(t *tester) (string, Verdict) {
				got := fmt.Sprintf("slowest %s, %d late", t.slowest.Round(10*time.Microsecond), t.late)
				if t.late > 0 {
					got += ", first at: " + cmp.Or(t.lateIn, "?")
				}
				if t.late >= tooLate {
					got += "; the check ended there"
				}
				return got, verdict(t.late == 0)
			}},
	}
}
