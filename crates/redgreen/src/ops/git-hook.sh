#!/bin/sh
# Written by `redgreen init --with git`; `redgreen init --with git --remove` removes it. A hook that
# existed before runs first, and is kept next to this one.
