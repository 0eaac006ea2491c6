// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/knative"
)

// read has the member's source read with a token of its own, which cannot write. One
// process that runs all stages has the other credentials in any case.
func (r *registration) read(ctx context.Context) error {
	if r.place == nil {
		return nil
	}
	hub, err := joining.SystemID(ctx, r.kube)
	if err != nil {
		return fmt.Errorf("ask the hub who it is: %w", err)
	}
	p := r.screen.Progress()
	defer p.Clear()
	p.Say("waiting for a token of %s that only reads", r.name)
	r.hubID = hub
	reader, err := r.member.MakeReader(ctx, hub)
	p.Clear()
	if err != nil {
		r.screen.Note("its source reads with the same credentials, and could write: no account that only reads: %v. 'join --print-role' prints what that takes", err)
		return nil
	}
	r.reader = reader
	r.undo = append(r.undo, reader.Undo)
	return nil
}

// mark tells the sweeper on the Cluster of a joined member whether its Secret has
// credentials that only read.
func (r *registration) mark(ctx context.Context) error {
	if r.place == nil {
		return nil
	}
	var reads any // none: no annotation
	if r.reader != nil {
		reads = "true"
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{knative.AnnotationReader: reads}}})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	client, err := r.dynamic()
	if err != nil {
		return err
	}
	if _, err := client.Resource(clusterResource).Patch(ctx, r.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: program}); err != nil {
		return fmt.Errorf("tell with which credentials the source of %s reads: %w", r.name, err)
	}
	return nil
}

// revoke ends the tokens that earlier joins made: the stored one has taken their place, or
// none has. Whoever may make no token may not be allowed to delete one either; then the
// former credentials are tried.
func (r *registration) revoke(ctx context.Context) {
	instead, but := "with the same credentials as the applier", ""
	switch {
	case r.hubID == "":
		return
	case r.reader != nil:
		instead, but = "with a new token", r.reader.Token
	case r.former == nil || len(r.former.Data[knative.KeyReader]) == 0:
		return
	}
	err := r.member.RevokeReaders(ctx, r.hubID, but)
	if err != nil && r.former != nil {
		former, parseErr := joining.Parse(r.former.Data[keyKubeconfig], "Secret "+propagation.SystemNamespace+"/"+r.name)
		if parseErr == nil && former.Endpoint == r.member.Endpoint {
			err = former.RevokeReaders(ctx, r.hubID, but)
		}
	}
	if err != nil {
		r.screen.Note("its source reads %s, and the former token stays valid until somebody deletes it in %s: %v", instead, r.name, err)
	}
}

// revoke ends the tokens with which the member's source read. A member that does not
// answer can be unjoined all the same.
func (d *departure) revoke(ctx context.Context) {
	if d.secret == nil || len(d.secret.Data[knative.KeyReader]) == 0 {
		return
	}
	if err := d.revokeAll(ctx, d.secret); err != nil {
		d.screen.Note("the token with which its source read stays valid, until somebody deletes it in %s: %v", d.name, err)
	}
}

func (d *departure) revokeAll(ctx context.Context, secret *corev1.Secret) error {
	hub, err := joining.SystemID(ctx, d.kube)
	if err != nil {
		return fmt.Errorf("ask the hub who it is: %w", err)
	}
	member, err := joining.Parse(secret.Data[keyKubeconfig], "Secret "+propagation.SystemNamespace+"/"+d.name)
	if err != nil {
		return err
	}
	return member.RevokeReaders(ctx, hub, "")
}
