package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"ticketrail/receiver/contract"
)

// The rows' requests, and how they judge answers. The contract does not state the fields of records and
// items; deployed services use these.
const (
	fieldNumber   = "checkNumber"
	fieldQuantity = "quantity"
	fieldNote     = "note"

	fieldItems, fieldChildren = contract.FieldItems, contract.FieldChildItems
)

// A party is one order; offOrders come while the printer is off, and a flood while the endpoint is killed.
const (
	party       = 200
	offOrders   = 50
	offFor      = 10 * time.Second
	stalledFor  = 2 * time.Second
	flood       = 64
	floodRate   = 150                    // orders a second
	floodAtOnce = 22                     // three rounds of an endpoint that needs seconds for each answer
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

// unique is a text that is on no other slip: a name that ends in it and is cut off is noticed. With six letters one
// party in three thousand had two canapes of one name.
func (s script) unique(text string) string {
	letters, end := []rune(s.letters), make([]rune, 8)
	for i := range end {
		end[i] = letters[rand.IntN(len(letters))] // not from a seed: two runs must send other names
	}
	return text + " " + string(end)
}

// firstNumber is far from the numbers of an earlier run, whose tickets may still come out: of five thousand numbers one
// run in twenty met some of them again, and took a ticket of the earlier run for its own.
func firstNumber() int { return 100_000 + rand.IntN(800_000) }

// item is a dish with a name of its own, and more than one of it, with these modifiers.
func item(name string, children ...map[string]any) map[string]any {
	it := map[string]any{contract.FieldName: scripts()[0].unique(name), fieldQuantity: 2 + rand.IntN(8)}
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

// varied is a usual order that is sent in another way.
func (t *tester) varied(change func(*webhookPost)) webhookPost {
	post := t.plain()
	change(&post)
	return post
}

// changed is plain with one change of its content.
func (t *tester) changed(change func(request, record map[string]any)) webhookPost {
	order := t.dinner()
	change(order.request, order.request[contract.FieldRecords].([]any)[0].(map[string]any))
	return t.postOf(order)
}

func largeParty() (all []map[string]any) {
	for n := range party {
		it := item("Canape", modifier("No fish"))
		if n%10 == 0 {
			it[fieldNote] = scripts()[0].unique("no nuts for")
		}
		all = append(all, it)
	}
	return all
}

// sendNew sends a request that must not be taken for a duplicate.
func (t *tester) sendNew(p webhookPost) (string, Verdict) {
	reply := t.send(p)
	dup, _ := reply.duplicate()
	return reply.String(), verdict(reply.Accepted() && !dup)
}

func (t *tester) firstOrder() (string, Verdict) {
	t.first = t.plain()
	got, verdict := t.sendNew(t.first)
	t.broken = verdict == Fail
	return got, verdict
}

// retries differ from the first in bytes, so they must be recognised by their id.
func (t *tester) retries() (string, Verdict) {
	order := t.dinner()
	var all []Attempt
	for n := range contract.WebhookRetries + 1 {
		all = append(all, t.send(t.attempt(order, n)))
	}
	return judgeRepeats(all...)
}

// atOnce finds an endpoint that looks the id up and stores it later: it accepts all of them as new.
func (t *tester) atOnce() (string, Verdict) {
	post, all := t.plain(), make([]Attempt, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = t.send(post) })
	}
	wg.Wait()
	return judgeRepeats(all...)
}

// hungUp ends the call as the service does after 5 s: the endpoint may have stored the order, but its answer was lost.
func (t *tester) hungUp() (string, Verdict) {
	order := t.dinner()
	t.sendAndHangUp(t.postOf(order))
	second, third := t.send(t.attempt(order, 1)), t.send(t.attempt(order, 2))
	dup, seen := third.duplicate()
	return second.String() + "; " + third.String(),
		verdict(second.Accepted() && third.Accepted() && (dup || !seen))
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

// judgeRepeats judges the answers to the same order sent several times. Each must accept it. If any
// answer has the field "duplicate", all but one must have the value true. An endpoint may leave the
// field out of the answer to the first. More than one new answer means a dinner cooked twice, none
// means one that is lost.
func judgeRepeats(all ...Attempt) (string, Verdict) {
	var words []string
	ok, said, first := true, 0, len(all)
	for _, r := range all {
		if word := r.String(); len(words) == 0 || words[len(words)-1] != word {
			words = append(words, word)
		}
		ok = ok && r.Accepted()
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
		sum := t.load(true, Load{Next: t.dinner, Count: orders, Rate: rate, Concurrency: orders})
		sleep(t.ctx, last-sum.Elapsed)
		if err := fault(false); err != nil {
			return err.Error(), Unseen
		}
		return fmt.Sprintf("%d of %d accepted", sum.accepted(), orders), verdict(sum.Accepted())
	}
}

// killed kills the endpoint while many orders are sent: an endpoint that answers before it stores
// an order is somewhere in between for one of them. Every order that was accepted must come out.
// It may come out twice: the ticket that was printing at the kill is in doubt.
func (t *tester) killed() (string, Verdict) {
	if t.o.Restart == nil {
		return "nothing can restart it", Unseen
	}
	t.doubt = true
	_, _ = t.settle(false) // tickets that came out before are not in doubt

	var sum *Summary
	var sending sync.WaitGroup
	sending.Go(func() {
		sum = t.load(false, Load{Next: t.dinner, Count: flood, Rate: floodRate, Concurrency: floodAtOnce})
	})
	sleep(t.ctx, floodBefore)
	err := t.restart()
	sending.Wait()

	if err != nil {
		return err.Error(), Unseen
	}
	return fmt.Sprintf("%d accepted", sum.accepted()), verdict(sum.accepted() > 0)
}

// restart restarts the endpoint and waits for up to a minute until it answers.
func (t *tester) restart() error {
	if err := t.o.Restart(t.ctx); err != nil {
		return err
	}
	for range 600 {
		// Any answer will do. This one leaves nothing behind.
		if _, _, err := (webhookPost{method: http.MethodGet}).exchange(t.ctx, t.o.Transport, t.o.URL); err == nil {
			t.restarted = true
			return nil
		}
		sleep(t.ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("it does not answer after the restart")
}

// knowsAfterRestart shows on paper whether the endpoint keeps its keys: the first order came out
// long before the kill, so it must not come out again.
func (t *tester) knowsAfterRestart() (string, Verdict) {
	if !t.restarted {
		return "it was not restarted", Unseen
	}
	reply := t.send(t.first)
	dup, seen := reply.duplicate()
	return reply.String(), verdict(reply.Accepted() && (dup || !seen))
}

// voids orders a dish in each script and then cancels it: a cook who is not told makes it.
func (t *tester) voids() (string, Verdict) {
	all := scripts()
	said, isAccepted := make([]string, len(all)), make([]bool, len(all))

	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			it := map[string]any{
				contract.FieldName: s.unique(s.dish), fieldNote: s.unique(s.note), fieldQuantity: 3 + rand.IntN(7),
			}
			record := t.newRecord(it)
			ordered := t.send(t.postOf(t.orderOf(record)))
			it[contract.FieldIsVoid], record[contract.FieldID] = true, uuid.NewString()
			void := t.send(t.postOf(t.orderOf(record)))

			said[i] = fmt.Sprintf("%s: %s, the void %s", s.name, ordered, void)
			isAccepted[i] = ordered.Accepted() && void.Accepted()
		})
	}

	wg.Wait()
	return strings.Join(said, "; "), verdict(!slices.Contains(isAccepted, false))
}

func (t *tester) burst() (string, Verdict) {
	sum := t.load(false, Load{Next: t.dinner, Count: t.o.Burst, Concurrency: burstAtOnce})
	return fmt.Sprintf("%d of %d accepted, %d taken for duplicates, %s", sum.accepted(), sum.Jobs, sum.FalseDuplicates,
		sum.answers()), verdict(sum.Accepted() && sum.Late+sum.FalseDuplicates == 0)
}
