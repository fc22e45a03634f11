"""Damage to the pieces of unfinished work, by one who knows what pieces are: whole ones in wrong places, too."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

# What is damaged, and the pieces of another work of the same kind, by the same names.
Damage = Callable[[Path, Path, random.Random], None]
_GROWN_BYTES = 1 << 42


def list_pieces(folder: Path) -> list[Path]:
    """The files of unfinished work, without locks and those that damage has grown."""
    files = (item for item in folder.rglob("*") if item.is_file() and not item.name.endswith((".lock", ".part")))
    return sorted(file for file in files if file.stat().st_size < _GROWN_BYTES)


def sort_pieces(folder: Path) -> dict[str, list[Path]]:
    """The pieces by kind, of which some have one piece and others hundreds: by their place, without numbers."""
    kinds: dict[str, list[Path]] = {}
    for piece in list_pieces(folder):
        place = re.sub(r"[-_\d]+", "#", str(piece.relative_to(folder)))
        kinds.setdefault("/".join(place.split("/")[:2]), []).append(piece)
    return kinds


def _flip(file: Path, other: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes() or b"x")
    for _ in range(rng.choice((1, 1, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def _truncate(file: Path, other: Path, rng: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: rng.choice((0, 1, len(data) // 2, len(data) - 1))])


def _extend(file: Path, other: Path, rng: random.Random) -> None:
    with file.open("ab") as stream:
        stream.write(rng.choice((b"\0", b"PK\3\4", bytes(4096))))


def _zero(file: Path, other: Path, rng: random.Random) -> None:
    """A block that never reached the disk."""
    data = bytearray(file.read_bytes() or b"x")
    at = rng.randrange(len(data)) // 512 * 512
    data[at : at + 512] = bytes(len(data[at : at + 512]))
    file.write_bytes(data)


def _swap(file: Path, other: Path, rng: random.Random) -> None:
    """Two pieces of one kind exchanged; alone, it is cut off."""
    alike = [item for item in list_pieces(file.parent) if item.suffix == file.suffix and item != file]
    if not alike:
        return _truncate(file, other, rng)
    chosen, aside = rng.choice(alike), file.with_name("aside")
    os.rename(file, aside)
    os.rename(chosen, file)
    os.rename(aside, chosen)
    return None


def _take_other(file: Path, other: Path, rng: random.Random) -> None:
    """The whole piece of another work, which has the same name."""
    if other.is_file():
        shutil.copy(other, file)
    else:
        file.write_bytes(b"")


def _copy(file: Path, other: Path, rng: random.Random) -> None:
    """The same piece once more, under a name that could be that of a further one."""
    name = re.sub(r"\d+", lambda found: f"{int(found[0]) + 7:0{len(found[0])}d}", file.name, count=1)
    shutil.copy(file, file.with_name(name if name != file.name else f"7{name}"))


def _remove(file: Path, other: Path, rng: random.Random) -> None:
    file.unlink()


def _make_folder(file: Path, other: Path, rng: random.Random) -> None:
    file.unlink()
    file.mkdir()
    (file / "thing").write_text("")


def _make_fifo(file: Path, other: Path, rng: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def _make_link(file: Path, other: Path, rng: random.Random) -> None:
    """A link to itself, or to what is not there."""
    file.unlink()
    file.symlink_to(rng.choice((file.name, "nowhere")))


def _grow(file: Path, other: Path, rng: random.Random) -> None:
    """A file of holes, of more bytes than any memory has."""
    os.truncate(file, _GROWN_BYTES)


def _change_json(file: Path, other: Path, rng: random.Random) -> None:
    """State of another kind where it is JSON, or is not."""
    texts = ("null", "[]", "[" * 100_000, "NaN", '{"a": 1}', '{"inode": 1, "from": "../.."}', "3", '"')
    file.write_text(rng.choice(texts))


DAMAGES: dict[str, Damage] = {
    **{"flip": _flip, "truncate": _truncate, "extend": _extend, "zero": _zero, "swap": _swap, "copy": _copy},
    **{"take-other": _take_other, "remove": _remove, "folder": _make_folder, "fifo": _make_fifo, "link": _make_link},
    **{"grow": _grow, "json": _change_json},
}


def damage_work(folder: Path, other: Path, rng: random.Random) -> list[str]:
    """Damage one to three pieces in ``folder``; gives what was done. ``other`` is the folder of another work."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = sort_pieces(folder)
        file, name = rng.choice(kinds[rng.choice(sorted(kinds))]), rng.choice(sorted(DAMAGES))
        inside = file.relative_to(folder)
        DAMAGES[name](file, other / inside, rng)
        done.append(f"{name} {inside}")
    return done


def copy_work(source: Path, target: Path) -> None:
    """Copy a folder with all that damage may have put in it."""

    def copy(one: str, two: str) -> None:
        if os.path.isfile(one):
            size = os.path.getsize(one)
            if size == _GROWN_BYTES:
                Path(two).touch()
                os.truncate(two, size)
            else:
                shutil.copy2(one, two)
        else:
            os.mkfifo(two)

    shutil.copytree(source, target, symlinks=True, copy_function=copy)
