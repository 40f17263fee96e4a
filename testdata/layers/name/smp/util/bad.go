package util // want name unlisted
