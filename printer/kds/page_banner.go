package kds

import "ticketrail/queue/ticket"

// bands are what is unusual about a card, in words, the gravest first. Where paper has the same
// they are the same words.
func banners(c *Card) (out []bannerView) {
	add := func(is bool, kind, text string) {
		if is {
			out = append(out, bannerView{kind, text})
		}
	}
	add(c.Void, "void", "VOID")
	add(c.Kind == ticket.Correction, "void", "CANCELLED AFTER IT WAS ORDERED")
	add(c.Duplicate, "duplicate", "POSSIBLE DUPLICATE")
	add(c.Reprint, "duplicate", "REPRINT")
	add(c.For != "", "for", insteadOf(c))
	add(c.Paper != "", "duplicate", "PRINTED AT "+c.Paper+" (screen was down)")
	add(c.AddOn, "addon", "ADD-ON to an order already shown")
	add(c.Refire, "refire", "REFIRE")
	add(c.NoRoute, "noroute", "NO ROUTE")
	add(c.Raw != "", "noroute", "UNREADABLE")
	add(c.Kind == ticket.Slip, "slip", "EXPIRED: too old to be sent")
	add(c.Kind == ticket.Test, "slip", "TEST: nothing to cook")
	return out
}

func insteadOf(c *Card) string {
	s := "FOR " + c.For
	if c.Down != "" {
		s += " (" + c.Down + " down)"
	}
	return s
}

// kindTitle heads a ticket that is of no order.
func kindTitle(k ticket.Kind) string {
	switch k {
	case ticket.Slip:
		return "Expired"
	case ticket.Test:
		return "Test"
	}
	return ""
}
