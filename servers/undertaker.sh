# undertaker.sh DIRECTORY
#
# Waits until its standard input ends. The word "dismissed" means that the owner has cleared everything away itself. An end
# without it means that the owner died: then every redis-server with a pid file in DIRECTORY is killed, every container
# labelled with DIRECTORY is removed, and DIRECTORY is removed. A container whose creation was under way when the owner died
# appears a little later, hence the rounds.

read -r order
[ "$order" = dismissed ] && exit 0

dir=$1
for round in 1 2 3; do
  for file in "$dir"/*/redis.pid; do
    [ -r "$file" ] || continue
    read -r pid <"$file"
    case $(ps -p "$pid" -o comm= 2>/dev/null) in
      redis-server*) kill -9 "$pid" ;;
    esac
  done
  if [ -e "$dir/containers" ] && command -v docker >/dev/null; then
    ids=$(docker ps -aq --filter "label=lockbench.estate=$dir" 2>/dev/null)
    [ -n "$ids" ] && docker rm -f -v $ids
    sleep 1
  fi
done >/dev/null 2>&1
rm -rf "$dir"
