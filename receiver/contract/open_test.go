package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

const aUUID = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01"

func TestEachExampleOpensWithoutAnomaly(t *testing.T) {
	names, err := fs.Glob(examples, "examples/*.json")
	if err != nil || len(names) < 7 {
		t.Fatalf("examples: %v, %v", names, err)
	}
	for _, name := range names {
		p, err := Open(Example(path.Base(name)), Strict)
		assert.True(t, err == nil && len(p.Anomalies) == 0, name, p.Anomalies, err)
		assert.True(t, !VenueDiffers(p, "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"), name)
	}
}

func TestOpenKeepsRecordsUnchangedAndItemsThatAreNullAreNone(t *testing.T) {
	body := []byte(`{"records":[{"id":"9B2E7C1A-4F0D-4C53-8D8E-0A5F6A3C1B01","ID":"no",` +
		`"items":[{"quantity":0.50,"childItems":null}]},{"id":7,"items":null},{"items":[{}]}],"x":1}` + " \r\n\t")
	p, err := Open(body, Lenient)
	assert.NoError(t, err)
	var got []string
	for _, r := range p.Records {
		got = append(got, r.ID, r.Fields.Text(), fmt.Sprint(len(r.Items)))
	}
	want := []string{aUUID, `{"id":"9B2E7C1A-4F0D-4C53-8D8E-0A5F6A3C1B01","ID":"no",` +
		`"items":[{"quantity":0.50,"childItems":null}]}`, "1", "",
		`{"id":7,"items":null}`, "0", "", `{"items":[{}]}`, "1"}
	d := cmp.Diff(want, got)
	assert.True(t, d == "" && p.ID == aUUID && string(p.Raw) == string(body), d)
}

func TestABodyMayBeginWithAByteOrderMark(t *testing.T) {
	const body = `{"records":[{"id":"a","items":[]},{"id":"b","items":[],"items":[]}]}`
	p, err := Open([]byte("\xef\xbb\xbf"+body), Lenient)
	assert.True(t, err == nil && string(p.Raw) == body && p.Records[0].Unreadable != "", p, err)
	raw, err := RawRecord(p.Raw, "a")
	assert.True(t, err == nil && string(raw) == `{"id":"a","items":[]}`, string(raw), err)
}

func TestAMismatchNamesThePathOfTheWrongField(t *testing.T) {
	long := strings.Repeat("i", 201)
	for _, c := range [][2]string{
		{`{}`, `records: missing`}, {`{"Records":[]}`, `records: missing`}, {`{"a":1,"a":2}`, `records: missing`},
		{`{"records":null}`, `records: want an array, got null`},
		{`{"records":{}}`, `records: want an array, got an object`},
		{`{"records":[]}`, `records: empty, want at least one record`},
		{`{"records":["a"]}`, `records[0]: want an object, got a string`},
		{`{"records":[{"id":"a"},null]}`, `records[1]: want an object, got null`},
		{`{"records":[{}]}`, `records[0].id: missing`},
		{`{"records":[{"ID":"a","items":[]}]}`, `records[0].id: missing`},
		{`{"records":[{"id":1,"items":[]}]}`, `records[0].id: want a string, got a number`},
		{`{"records":[{"id":null}]}`, `records[0].id: want a string, got null`},
		{`{"records":[{"id":"","items":[]}]}`, `records[0].id: empty, want a UUID`},
		{`{"records":[{"id":" \t","items":[]}]}`, `records[0].id: empty, want a UUID`},
		{`{"records":[{"id":"` + long + `"}]}`, `records[0].id: 201 bytes long, want at most 200`},
		{`{"records":[{"id":"a"}]}`, `records[0].items: missing`},
		{`{"records":[{"id":"a","items":[]},{"id":"b"}]}`, `records[1].items: missing`},
		{`{"records":[{"id":"a","items":true}]}`, `records[0].items: want an array, got a boolean`},
		{`{"records":[{"id":"a","items":[{},3]}]}`, `records[0].items[1]: want an object, got a number`},
		{`{"records":[{"id":"a","items":[{},{},{"childItems":"x"}]}]}`,
			`records[0].items[2].childItems: want an array, got a string`},
		{`{"records":[{"id":"a","items":[{"childItems":[{},[]]}]}]}`,
			`records[0].items[0].childItems[1]: want an object, got an array`},
		{`{"records":[{"id":"a","items":[{"childItems":[{"childItems":false}]}]}]}`,
			`records[0].items[0].childItems[0].childItems: want an array, got a boolean`},
	} {
		body, want := c[0], c[1]
		_, err := Open([]byte(body), Lenient)
		_, ok := errors.AsType[*Mismatch](err)
		assert.True(t, ok && err.Error() == want, body, err, want)
	}
}

func TestABodyIsExactlyOneObject(t *testing.T) {
	for _, c := range [][2]string{
		{``, `byte 0: the body is empty`}, {" \n", `byte 0: the body is empty`},
		{`null`, `byte 0: want an object, got null`}, {`[]`, `byte 0: want an object, got an array`},
		{`"records"`, `byte 0: want an object, got a string`},
		{`{"records":[`, `byte 12: the body ends in the middle`},
		{`{"records":[]} {}`, `byte 15: text after the object`}, {`{"records":[]}x`, `byte 14: text after the object`},
		{"{}\x00", `byte 2: text after the object`},
		{"\xef\xbb\xbf\xef\xbb\xbf{}", "byte 0: invalid character '\\ufeff' at start of value"},
		{`{"a":[}`, `byte 6: invalid character '}' at start of value`},
		{`{'a':1}`, `byte 1: invalid character '\'' at start of value`},
		{strings.Repeat("[", 1<<18), `byte 0: want an object, got an array`},
		{strings.Repeat(`{"records":`, 9000), `byte 99000: the body ends in the middle`},
	} {
		body, want := c[0], c[1]
		_, err := Open([]byte(body), Lenient)
		_, ok := errors.AsType[*InvalidJSON](err)
		assert.True(t, ok && err.Error() == want, body, err, want)
	}
}

func TestAnomaliesAreAcceptedAndCounted(t *testing.T) {
	for body, want := range map[string][]Anomaly{
		`{"records":[{"id":"order 7","items":[]}]}`:                                            {IDNotUUID},
		`{"records":[{"id":"ID","items":[],"retryCount":2.0}]}`:                                nil,
		`{"records":[{"id":"ID","items":[],"retryCount":-1}]}`:                                 nil,
		`{"records":[{"id":"ID","items":[{"name":"caf` + "\xe9" + `"}]}]}`:                     {InvalidUTF8},
		`{"records":[{"id":"ID","items":[]}],"status":"success"}`:                              {StatusOdd},
		`{"records":[{"id":"ID","items":[]}],"status":null}`:                                   {StatusOdd},
		`{"records":[{"id":"ID","items":[]}],"count":2}`:                                       {CountOdd},
		`{"records":[{"id":"ID","items":[]}],"count":"1"}`:                                     {CountOdd},
		`{"records":[{"id":"ID","items":[]}],"count":1e0}`:                                     nil,
		`{"records":[{"id":"ID","id":"ID","items":[]}]}`:                                       {DuplicateKey},
		`{"records":[{"id":"ID","items":[],"a":{"b":[{"c":1,"\u0063":2}]}}]}`:                  {DuplicateKey},
		`{"records":[{"id":"ID","items":[],"a\\":":\":","b\\\"":{"::":[":","\\\\"]}}],"c":""}`: nil,
	} {
		p, err := Open([]byte(strings.ReplaceAll(body, `"ID"`, `"`+aUUID+`"`)), Lenient)
		assert.True(t, err == nil && slices.Equal(p.Anomalies, want), body, p.Anomalies, err, want)
	}
}

func TestStrictRefusesOnlyAWrongID(t *testing.T) {
	for body, want := range map[string]string{
		`{"records":[{"id":"order 7","items":[]}]}`:                       "records[0].id: want a UUID",
		`{"records":[{"id":"ID","items":[],"retryCount":"1"}],"count":9}`: "<nil>",
		`{"records":[{"id":"ID","items":[]},{"id":"x","items":[]}]}`:      "<nil>",
	} {
		_, err := Open([]byte(strings.Replace(body, `"ID"`, `"`+aUUID+`"`, 1)), Strict)
		assert.Equal(t, fmt.Sprint(err), want, body, err)
	}
}

func TestAUUIDIsTheSameInAnyCase(t *testing.T) {
	for _, in := range []string{aUUID, strings.ToUpper(aUUID)} {
		got, ok := CanonicalID(in)
		assert.True(t, ok && got == aUUID, in, got, ok)
	}
	for _, in := range []string{"", "x", "{" + aUUID + "}", aUUID + "0", strings.ReplaceAll(aUUID, "-", ""),
		strings.Replace(aUUID, "a", "g", 1), strings.Replace(aUUID, "-", "0", 1)} {
		got, ok := CanonicalID(in)
		assert.True(t, !ok && got == in, in, got, ok)
	}
}

func TestAVenueDiffersOnlyIfARecordNamesAnother(t *testing.T) {
	for venue, want := range map[string]bool{
		`"` + strings.ToUpper(aUUID) + `"`: false, `null`: false, `"other"`: true, `7`: true,
	} {
		p, err := Open([]byte(`{"records":[{"id":"a","items":[]},{"items":[],"venueId":`+venue+`}]}`), Lenient)
		assert.True(t, err == nil && VenueDiffers(p, aUUID) == want, venue, !want, err)
	}
}

func FuzzOpen(f *testing.F) {
	names, _ := fs.Glob(examples, "examples/*.json")
	for _, name := range names {
		f.Add(Example(path.Base(name)), false)
	}
	f.Add([]byte(`{"records":[{"id":"a","id":"b\\\"","items":[{"childItems":[{}]}]}],"count":1}`), true)
	f.Add([]byte("{\"records\":[{\"id\":\"a\",\"id\":\"\x97\\\\\\\"\",\"items\":[{\"x\xff\":[{}]}]}]}"), false)
	f.Add([]byte("\xef\xbb\xbf"+`{"records":[{"id":"\ud800","items":null}]}`), false)
	f.Add(bodyOf(`\u0041\uFFFD\u00e9\n\"\\\/\b\f\r\t`), false)
	f.Fuzz(func(t *testing.T, body []byte, strict bool) {
		mode := Lenient
		if strict {
			mode = Strict
		}
		p, err := Open(body, mode)
		if err != nil {
			if d := cmp.Diff(PrintRequest{}, p); d != "" {
				t.Fatalf("a value together with the error %v: %s", err, d)
			}
			if !json.Valid(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))) {
				return
			}
			if _, ok := errors.AsType[*InvalidJSON](err); ok &&
				strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(body), "\ufeff")), "{") {
				t.Fatalf("valid JSON called invalid: %v", err)
			}
			return
		}
		if id, _ := CanonicalID(p.ID); id != p.ID || p.ID == "" || len(p.ID) > MaxIDBytes {
			t.Fatalf("id %q", p.ID)
		}
		if slices.Contains(p.Anomalies, OverLimit) { // it prints as text: see FuzzTheTextOfAnyBodyIsBounded
			return
		}
		if mode == Strict && slices.Contains(p.Anomalies, IDNotUUID) {
			t.Fatal("strict accepted an id that is not a UUID")
		}
		for _, r := range p.Records {
			switch {
			case r.Unreadable != "":
				if r.Items != nil || !json.Valid([]byte(r.Unreadable)) || !slices.Contains(p.Anomalies, DuplicateKey) {
					t.Fatalf("an unreadable record: %+v", r)
				}
			case r.Fields == nil:
				t.Fatal("a record without its fields")
			case len(r.Items) != r.Fields.Get(FieldItems).Len():
				t.Fatal("a record with other items than it has")
			}
		}
		// Except of an id that is not Unicode: see exactID.
		unicode := utf8.Valid(body) && !bytes.Contains(bytes.ToLower(body), []byte(`\ud`))
		if unicode && !slices.Contains(p.Anomalies, DuplicateKey) {
			dec := json.NewDecoder(bytes.NewReader(p.Raw))
			dec.UseNumber()
			var plain any
			if err := dec.Decode(&plain); err != nil || !reflect.DeepEqual(plain, plainOf(p.Envelope)) {
				t.Fatalf("the standard library reads something else: %v", err)
			}
			if again, _, _, err := parse([]byte(p.Envelope.JSON())); err != nil || again.JSON() != p.Envelope.JSON() {
				t.Fatalf("written as JSON it is something else: %v", err)
			}
		}
		again, err := Open(body, mode)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("the same body opens differently: %v", err)
		}
	})
}

// plainOf is a value as encoding/json reads it.
func plainOf(v Value) any {
	switch v.Kind() {
	case '{':
		object := map[string]any{}
		for member := range v.All() {
			object[member.Key()] = plainOf(member)
		}
		return object
	case '[':
		list := []any{}
		for e := range v.All() {
			list = append(list, plainOf(e))
		}
		return list
	case '"':
		return v.Text()
	case '0':
		return json.Number(v.Text())
	case 'n':
		return nil
	}
	return v.Kind() == 't'
}
