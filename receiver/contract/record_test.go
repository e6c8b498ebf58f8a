package contract

import "testing"

func TestTheRecordOfATicketIsFoundByItsID(t *testing.T) {
	const two = `{"records":[{"id":"a","n":1},"x",{"id":"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11","n":2}]}`
	for _, c := range []struct{ body, id, want string }{
		{`{"records":[{"n":1}]}`, "", `{"n":1}`},
		{`{"records":[{"id":"b"}]}`, "a", `{"id":"b"}`}, // the only record, whatever its id
		{two, "a", `{"id":"a","n":1}`},
		{two, "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", `{"id":"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11","n":2}`},
		{two, "", ""},
		{"{\"records\":[{\"id\":\"\xff\",\"n\":1},{\"id\":\"\xfe\",\"n\":2}]}", `"\xfe"`, "{\"id\":\"\xfe\",\"n\":2}"},
		{two, "c", ""}, {`{}`, "a", ""}, {``, "a", ""},
	} {
		got, err := RawRecord([]byte(c.body), c.id)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q of %s gave %s, %v", c.id, c.body, got, err)
		}
	}
}
