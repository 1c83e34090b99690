#!/bin/sh
# Written by `redgreen init --with git`; `redgreen init --with git --remove` takes it out. A hook that was here before runs
# first, and is kept beside this one.
