// Package hub runs a NATS server with JetStream in this process, and connects to one.
//
// What it is not: it knows nothing of campaigns, but for who may say what (rights.go).
//
// Its rule: nothing listens beyond loopback unless an address is given, and then with TLS only.
// Each connection has an nkey, loopback or not. What is stored lies in one folder, with the keys.
//
// Its limit: who can read the folder can do anything.
package hub
