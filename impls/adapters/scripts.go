package adapters

// ScriptNames maps the digest of every script that the libraries send to a name that says what it is for. A record without
// it would show digests, and would not tell a library's release from its renewal.
func ScriptNames() map[string]string {
	return map[string]string{
		"e950836ed1e694540c503ef9972b8de518044d3b": "redsync_release",
		"d75bb8b5bd13532ddedd17762e772346e39b321e": "redsync_extend",
		"eb0c00d98f6f33b4262419a509002884540f30be": "redislock_obtain",
		"5a22d7e8431313862816d4416b5e46dd70fc340d": "redislock_refresh",
		"9470c810040e272ee6c579d8d4331aaf6332a7b1": "redislock_release",
		"3875d208d9e377969d2022550302cc83ad17b584": "rueidislock_acquire",
		"852ba6ec6104340ced36643283c856d4698569e4": "rueidislock_extend",
		"9eb62214c9af87ae5f9a9f12bb4520281c0d2ae1": "rueidislock_release",
	}
}
