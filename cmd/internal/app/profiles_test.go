package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/config"
	"ticketrail/printer/layout"
)

func TestTheHeadOfATicketHasTheFieldsOfTheConfiguration(t *testing.T) {
	if diff := cmp.Diff(layout.HeaderFields(), config.HeaderFields()); diff != "" {
		t.Error(diff)
	}
}
