// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command netpol enforces the NetworkPolicies of a cluster for the pods of the
// node in whose network namespace it runs. It is the controller of
// sigs.k8s.io/kube-network-policies, whose own command runs in a pod alone.
//
//	netpol KUBECONFIG NODE
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "netpol:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: netpol KUBECONFIG NODE")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	all := informers.NewSharedInformerFactory(client, 0)
	c, err := networkpolicy.NewController(client, all.Networking().V1().NetworkPolicies(), all.Core().V1().Namespaces(), all.Core().V1().Pods(),
		nil, nil, nil, nil, networkpolicy.Config{QueueID: 100, NodeName: os.Args[2]})
	if err != nil {
		return err
	}
	all.Start(ctx.Done())
	return c.Run(ctx)
}
