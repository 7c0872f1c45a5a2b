# Completion of muster for bash: source this file, or have it as muster in share/bash-completion/completions.
# muster itself provides the candidates.

# Bash takes words apart at = : and @, which values of ours have. MUSTER_WORDS: as they stand in the line, up to the
# cursor.
_muster_words() {
  local rest=${COMP_LINE:0:COMP_POINT} piece bare i
  MUSTER_WORDS=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    bare=${rest#"${rest%%[![:space:]]*}"}
    ((i < COMP_CWORD)) || piece=$bare
    if [[ ${#MUSTER_WORDS[@]} -eq 0 || $bare != "$rest" || (-z $bare && -z $piece && $rest != "$bare") ]]; then
      MUSTER_WORDS+=("$piece")
    else
      MUSTER_WORDS[-1]+=$piece
    fi
    rest=${bare#"$piece"}
  done
}

_muster() {
  local MUSTER_WORDS program line word kept breaks files=
  _muster_words
  program=${MUSTER_WORDS[0]/#\~\//"$HOME/"}
  word=${MUSTER_WORDS[-1]}
  # Readline replaces only what stands behind the last of these.
  breaks=${COMP_WORDBREAKS//[[:space:]]/}
  kept=${word%"${word##*["$breaks"]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) files=-f ;;
      :folders) files=-d ;;
      :goes_on) compopt -o nospace 2>/dev/null ;;
      *)
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$kept"}")
        ;;
    esac
  done < <("$program" complete "${MUSTER_WORDS[@]/#/=}" 2>/dev/null)
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen $files -- "${word#"$kept"}")
  fi
}

complete -F _muster muster
