// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rebuild fills Redis from the hub where it lost its data, or where the hub
// went back: then Redis knows what is no more.
//
// Promise: whoever asks for it, and however often it is cut off, Redis is built in the
// end, and nothing of it is believed before. Each call goes on where the one before it
// ended, whichever process that was in: how far it came is in Redis, and so is that the
// hub went back, until somebody has looked at what members have.
//
// It must not decide what the index says, which pkg/redis/claims does.
package rebuild
