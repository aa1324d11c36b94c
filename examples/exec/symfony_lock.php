<?php
// Symfony's Lock on RedisStore and phpredis as a child of lockbench.  lockbench run --exec 'php symfony_lock.php'
require '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockExpiredException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$locks = [];
$waits = [];

// RedisStore cannot wait; Lock::acquire(true) polls every 90 to 110 ms without an end, so that a wait with one polls here.
function waitFor($lock, float $poll, float $wait): bool
{
    for ($end = microtime(true) + $wait; !$lock->acquire(); usleep((int) (1000 * $poll))) {
        if ($wait > 0 && microtime(true) >= $end) {
            return false;
        }
    }
    return true;
}

while (($line = fgets(STDIN)) !== false) {
    $ask = json_decode($line, true);
    $key = $ask['key'] ?? '';
    $answer = ['id' => $ask['id'], 'ok' => true];
    try {
        switch ($ask['op']) {
            case 'describe':
                $answer += ['name' => 'symfony-lock', 'can' => ['extend']];
                break;
            case 'new':
                [$host, $port] = explode(':', $ask['servers'][0]);
                $redis = new Redis();
                $redis->connect($host, (int) $port);
                $locks[$key] = (new LockFactory(new RedisStore($redis)))->createLock($key, $ask['lease_ms'] / 1000, false);
                $waits[$key] = $ask['poll_ms'];
                break;
            case 'try':
                $answer = $locks[$key]->acquire() ? $answer : ['id' => $ask['id'], 'error' => 'busy'];
                break;
            case 'acquire':
                $answer = waitFor($locks[$key], $waits[$key], ($ask['wait_ms'] ?? 0) / 1000) ? $answer : ['id' => $ask['id'], 'error' => 'busy'];
                break;
            case 'extend':
                $locks[$key]->refresh();
                break;
            case 'release':
                $locks[$key]->release();
                break;
        }
    } catch (LockConflictedException | LockExpiredException $e) {
        $answer = ['id' => $ask['id'], 'error' => 'lost', 'text' => $e->getMessage()];
    } catch (Throwable $e) {
        $answer = ['id' => $ask['id'], 'error' => 'unknown', 'text' => get_class($e).': '.$e->getMessage()];
    }
    echo json_encode($answer), "\n";
}
