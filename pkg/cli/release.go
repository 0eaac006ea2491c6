// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// preview shows what a release would do.
func (o *activateOptions) preview(releases []explaining.Release) error {
	if o.forMachines() {
		return o.screen.Encode(o.format, map[string]any{"items": releases})
	}
	if len(releases) == 0 {
		if len(o.untold) > 0 {
			return nil
		}
		o.screen.Println("Nothing waits.")
		return nil
	}
	var rows [][]screen.Cell
	for _, r := range releases {
		row := []screen.Cell{screen.Text(r.Template.Namespace), screen.Text(refOf(r.Template)), screen.Text(""), screen.Text("")}
		if r.Policy != nil {
			row[2] = screen.Text(policyRef(*r.Policy))
		}
		switch {
		case r.Refusal != "":
			row[3] = screen.Cell{Text: "cannot be released: " + r.Refusal, Paint: screen.Bad}
		case r.Moves != nil:
			row[3] = screen.Text(r.Moves.String())
		}
		rows = append(rows, row)
	}
	o.screen.Table("", screen.Columns("NAMESPACE", "TEMPLATE", "POLICY", "WOULD"), rows, false)
	return nil
}

// activate releases one template after the other.
func (o *activateOptions) activate(ctx context.Context, h *hub.Hub, waiting []explaining.Release) error {
	p := o.screen.Progress()
	defer p.Clear()
	failed, next := 0, time.Now()
	for i, r := range waiting {
		say := func(what string) {
			if o.screen.Live() {
				p.Say("%s %s: %s", screen.Bar(i, len(waiting)), where(r.Template), what)
			}
		}
		say("waiting for its turn")
		if err := sleepUntil(ctx, next); err != nil {
			return o.interrupted(i-failed, len(waiting), err)
		}
		next = time.Now().Add(o.pause)
		done, err := o.release(ctx, h, r.Template, say)
		p.Clear()
		switch {
		case ctx.Err() != nil:
			return o.interrupted(i-failed, len(waiting), ctx.Err())
		case err != nil && len(waiting) == 1:
			return fmt.Errorf("%s: %w", where(r.Template), err)
		case err != nil && !o.goOn:
			return fmt.Errorf("%s: %w. %s; the same command goes on with what waits, --keep-going passes over what fails",
				where(r.Template), err, doneOf(i-failed, len(waiting)))
		case err != nil:
			failed++
			o.screen.Note("%s: %v", where(r.Template), err)
		default:
			o.screen.Printf("%s %s: %s\n", screen.Bar(i+1, len(waiting)), where(r.Template), done)
		}
	}
	if failed+o.missing > 0 {
		return o.failed(failed+o.missing, len(waiting)+o.missing)
	}
	return nil
}

func (o *activateOptions) failed(n, of int) error {
	return fmt.Errorf("%d of %s failed: the same command tries them again", n, noun(of, "template", "templates"))
}

func doneOf(done, all int) string { return fmt.Sprintf("%d of %d are released", done, all) }

func (o *activateOptions) interrupted(done, all int, err error) error {
	return fmt.Errorf("interrupted: %s; the same command goes on: %w", doneOf(done, all), err)
}

func sleepUntil(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(t)):
		return nil
	}
}

// release records the request on the binding, and waits until it is fulfilled.
func (o *activateOptions) release(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, say func(string)) (string, error) {
	var r explaining.Release
	err := again(func() error {
		w, s, err := o.look(ctx, h, key)
		if err != nil {
			return err
		}
		if r = w.Release(s); r.Refusal != "" {
			return errors.New(r.Refusal)
		}
		if !r.Pending {
			return nil
		}
		_, err = h.CommitBinding(ctx, r.Current, r.Requested.Asking())
		return err
	})
	if err != nil {
		return "", err
	}
	if !r.Pending {
		return "nothing waits any more", nil
	}
	say("released")
	return r.Moves.String(), o.come(ctx, h, key, r.Requested.Annotations[propagation.AnnotationActivate], say)
}

// worldFor is how long policies and clusters are used before they are read again. A
// request for a policy that changed meanwhile is void, which is noticed.
const worldFor = 3 * time.Second

func (o *activateOptions) look(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (explaining.World, explaining.Subject, error) {
	s, err := subject(ctx, h, key)
	if err != nil {
		return explaining.World{}, s, notFound(key, err)
	}
	if time.Since(o.readAt) > worldFor {
		if o.world, err = world(ctx, h); err != nil {
			return o.world, s, err
		}
		o.readAt = time.Now()
	}
	return o.world, s, nil
}

// come waits until what was requested is in force and, if --wait is set, available.
func (o *activateOptions) come(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, request string, say func(string)) error {
	why := "is Sluice running?"
	err := poll(ctx, o.timeout, func(ctx context.Context) (bool, error) {
		w, s, err := o.look(ctx, h, key)
		if err != nil {
			return false, err
		}
		if s.Binding == nil {
			return false, errors.New("it has no binding, so the request is lost: run the command again")
		}
		switch noted := s.Binding.Annotations[propagation.AnnotationActivate]; {
		case noted == "":
		case noted != request:
			return false, errors.New("somebody else requested something else meanwhile")
		case !w.Stands(s, request):
			return false, errors.New("the policy changed meanwhile, which voids the request: run the command again")
		default:
			return false, nil
		}
		if !o.wait {
			return true, nil
		}
		if s.Works, err = h.WorksOf(ctx, s.Binding.Key); err != nil {
			return false, err
		}
		done, missing, err := w.Available(s)
		if why = missing; !done {
			say(missing)
		}
		return done, err
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("not done after %s: %s", o.timeout, why)
	}
	return err
}
