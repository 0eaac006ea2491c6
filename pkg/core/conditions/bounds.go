// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Messages about an object are stored in the object: one that is too long would keep
// its whole status from being written.
const (
	// MaxMessage is how many bytes one message has at most.
	MaxMessage = 1 << 10
	// MaxMessages is how many bytes the messages of one object have together.
	MaxMessages = 16 << 10
)

// Message returns s, cut to the maximum length of a message. A message that was cut
// says how much was left out.
func Message(s string) string {
	if len(s) <= MaxMessage {
		return strings.ToValidUTF8(s, "?")
	}
	// What is left out is at most as long as s, so its number has no more digits.
	keep := MaxMessage - len(left(len(s)))
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return strings.ToValidUTF8(s[:keep], "?") + left(len(s)-keep)
}

func left(n int) string { return fmt.Sprintf(" … and %d bytes more", n) }

// Bound returns the list with each message cut by Message.
func Bound(list []metav1.Condition) []metav1.Condition {
	if !slices.ContainsFunc(list, func(c metav1.Condition) bool { return len(c.Message) > MaxMessage }) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Message = Message(list[i].Message)
	}
	return list
}

// separator stands between what a message lists.
const separator = "; "

// List joins all into one message. What does not fit is counted.
func List(all []string) string {
	whole := strings.Join(all, separator)
	if len(whole) <= MaxMessage {
		return Message(whole)
	}
	room := MaxMessage - len(more(len(all)))
	var b strings.Builder
	said := 0
	for _, s := range all {
		if s = Message(s); b.Len()+len(s)+len(separator) > room {
			break
		}
		if said > 0 {
			b.WriteString(separator)
		}
		b.WriteString(s)
		said++
	}
	if said == 0 {
		return Message(whole)
	}
	return b.String() + more(len(all)-said)
}

func more(n int) string { return fmt.Sprintf("%sand %d more", separator, n) }

// Budget limits the messages of one object taken together. The zero Budget is unspent.
type Budget struct {
	spent int
	// Omitted is how many messages there was no room for.
	Omitted int
}

// Say returns the message, cut by Message; empty where the budget is used up.
func (b *Budget) Say(s string) string {
	s = Message(s)
	if b.spent+len(s) > MaxMessages {
		b.Omitted++
		return ""
	}
	b.spent += len(s)
	return s
}
