package kds

import (
	"encoding/json"
	"net/http"
	"strings"

	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

// The pickup board of a pass is a page for guests who wait for takeaway. It has numbers, and names only if
// it is configured so; nothing can be pressed there. A number is on it until its order is sent out at the pass.

// pickupPattern is the route of the page.
const pickupPattern = "GET /screen/{name}/pickup"

// pickupSuffix ends the station of a browser that is paired with a pickup board and not with its pass.
const pickupSuffix = "/pickup"

// pickupPage serves the page. Its script draws the lists of the stream.
func (s *Server) pickupPage(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	if !view.Pass {
		http.Error(w, "only a screen of mode pass has a pickup board", http.StatusNotFound)
		return
	}
	g.renew(w, r)
	s.serveTemplate(w, r, "pickup.html", view)
}

// pickupEvents is the event stream of the page. It has no id of a page: whoever looks there is no cook, so the screen
// stays dark.
func (s *Server) pickupEvents(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	s.stream(w, r, g, &stream{view: view})
}

// sendPickup sends the whole pickup board if it has changed.
func (st *stream) sendPickup() error {
	body, _ := json.Marshal(st.view.pickup()) // texts: it cannot fail
	if st.last == string(body) {
		return nil
	}
	st.last = string(body)
	st.writeEvent("pickup", "", body)
	return st.flush()
}

// pickup is the content of the page: the numbers of the open orders that are not brought to a table, the oldest first.
func (v *screenView) pickup() map[string][]string {
	lists := map[string][]string{"preparing": {}, "ready": {}}
	for _, o := range v.orders.Snapshot().Orders {
		called := v.calledOut(o)
		switch atTable := o.DineIn && o.Table != ""; {
		case called == "" || atTable || o.Cancelled || o.Kind != ticket.Order:
		case o.Ready:
			lists["ready"] = append(lists["ready"], called)
		default:
			lists["preparing"] = append(lists["preparing"], called)
		}
	}
	return lists
}

// calledOut is how guests are called: by number, and by name if that is configured.
func (v *screenView) calledOut(o *board.Order) string {
	called := strings.TrimPrefix(o.Number, "#")
	if v.PickupNames {
		called = strings.TrimSpace(called + " " + o.Customer)
	}
	return called
}
