package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// Beside its key, the tags of a field have its default and the values that it may have:
//
//	default:"4s"            one that is too long for a tag is set by longDefaults
//	range:"1s 1m"           at least and at most
//	zero:"allowed"          0 is allowed too
//	oneof:"lenient strict"  one of these words
//	form:"path"             text of one of the forms
//	file:"secret"           a file in the folder for credentials, which not every user may read
//	file:"public"           one there that each may read
//	file:"local"            one in the folder of the configuration, which must be named

// reasons end the message about a value that is out of range, or about one value by its name.
var reasons = map[string]string{
	"receiver.max_body":       "; an order of 300 items has about 50KiB",
	"receiver.respond_within": "; the service gives up after 5s",
	"printers[].linger":       "; other clients of the printer wait that long",
	"printers[].poll_every":   "; 0s turns polling off",
	"screens[].mode: expo":    "; write mode: pass",
	"screens[].repeat":        "; write 0s for a sound that comes once",
}

const dottedPath = `[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,4}`

// forms are how a text is written, with the end of the message about another one.
var forms = map[string]struct{ like, other string }{
	"header":    {"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", "is not a valid header name"},
	"path":      {`(/[A-Za-z0-9._~-]+)+`, "is not a plain path below base_url; for example /oauth/token"},
	"prefix":    {`(/[A-Za-z0-9._~-]+)*`, "is not a plain path below base_url; for example /api"},
	"parameter": {`[A-Za-z0-9_.\[\]-]{1,64}`, "is not a valid parameter name"},
	"field":     {dottedPath, "is not a field of a response; for example data.token"},
	"cursor": {`|header:[A-Za-z0-9-]{1,100}|` + dottedPath,
		"is not a field or header of a response; for example meta.nextCursor or header:X-Next-Cursor"},
	"dotted": {`[^.]+(\.[^.]+)*`, "is not a dotted path; for example records.items.kitchenCode"},
	"scope":  {`[!#-\[\]-~]{1,200}`, "is not a scope; for example checks:read"}, // RFC 6749, section 3.3
}

var index = regexp.MustCompile(`\[[0-9]+\]`)

// Defaults is a section of which no key is set: a Screen, a KDS, a TicketLog.
func Defaults[T any]() (section T) {
	setDefaults(reflect.ValueOf(&section).Elem())
	return section
}

func setDefaults(section reflect.Value) {
	if s, ok := section.Addr().Interface().(interface{ longDefaults() }); ok {
		s.longDefaults()
	}
	for f, value := range fieldsOf(section) {
		if text, ok := f.Tag.Lookup("default"); ok {
			value.Set(parseTag(text, f.Type))
		} else if isSection(f.Type) {
			setDefaults(value)
		}
	}
}

// parseTag reads a value in a tag as if it were in a file. It panics if it cannot be read: the tags are ours.
func parseTag(text string, t reflect.Type) reflect.Value {
	parsed, err := mapstructure.DecodeHookExec(decodeText, reflect.ValueOf(text), reflect.New(t).Elem())
	if err != nil {
		panic(err)
	}
	return reflect.Indirect(reflect.ValueOf(parsed))
}

// limits checks each value of a section, and of the sections in it, against the tags of its field. It makes the names
// of files absolute.
func (k *checker) limits(path string, section reflect.Value) {
	for f, value := range fieldsOf(section) {
		at := join(path, f.Tag.Get("mapstructure"))
		if isSection(f.Type) {
			k.limits(at, value)
		}
		if f.Type.Kind() == reflect.Slice && isSection(f.Type.Elem()) {
			for i := range value.Len() {
				k.limits(fmt.Sprintf("%s[%d]", at, i), value.Index(i))
			}
		}

		if kind := f.Tag.Get("file"); kind != "" {
			each(at, value, func(at string, name reflect.Value) { k.file(at, kind, name) })
		}
		if name := f.Tag.Get("form"); name != "" {
			each(at, value, func(at string, text reflect.Value) { k.form(at, name, text.String()) })
		}
		if words := f.Tag.Get("oneof"); words != "" {
			k.oneOf(at, value.String(), strings.Fields(words)...)
		}

		least, most, ok := strings.Cut(f.Tag.Get("range"), " ")
		if !ok || f.Tag.Get("zero") != "" && value.IsZero() {
			continue
		}
		if n := value.Int(); n < parseTag(least, f.Type).Int() || n > parseTag(most, f.Type).Int() {
			shown := value.Interface()
			if d, ok := shown.(time.Duration); ok {
				shown = short(d)
			}
			k.add(at, "%v is not between %s and %s%s", shown, least, most, reasons[index.ReplaceAllString(at, "[]")])
		}
	}
}

// each calls check for a value, or for each of a list.
func each(at string, value reflect.Value, check func(at string, one reflect.Value)) {
	if value.Kind() != reflect.Slice {
		check(at, value)
		return
	}
	for i := range value.Len() {
		check(fmt.Sprintf("%s[%d]", at, i), value.Index(i))
	}
}

// file makes the name of a file absolute.
func (k *checker) file(at, kind string, value reflect.Value) {
	name := value.String()
	if kind == "local" {
		if name == "" || strings.ContainsRune(name, 0) {
			k.add(at, "%s is not a file name", quote(name))
			return
		}
		value.SetString(filepath.Clean(absolute(k.dir, name)))
		return
	}

	value.SetString(absolute(k.credentials, name))
	info, err := os.Stat(value.String())
	if err == nil && kind == "secret" && info.Mode().Perm()&0o004 != 0 {
		k.warn(at, "all users of this machine can read %s (mode %04o); run chmod o= on it", value, info.Mode().Perm())
	}
}

// form checks a text against a form.
func (k *checker) form(at, name, text string) {
	if form := forms[name]; !regexp.MustCompile("^(" + form.like + ")$").MatchString(text) {
		k.add(at, "%s %s", quote(text), form.other)
	}
}
