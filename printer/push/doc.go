// Package push posts tickets to third-party kitchen displays: the kitchen keeps the screens that it has, and
// ticketrail in front of them never forgets an order.
//
// [Display] is a station of the dispatcher, as a printer is: the same queue in front, the same promises, the
// same kinds of outcome. Such a display keeps its own board. Our part ends when it has answered that it has
// the ticket, which is all the proof there is: the ticket is then "taken".
//
// A ticket is one post of the package webhook with a [Document] as JSON, which schema.json describes. display.go is
// the station, answer.go interprets answers, client.go has the connection and the credentials.
//
// The package depends on the dispatcher's station interface and on HTTP only. It knows no printers, no
// screens, no routes and no configuration file.
package push
