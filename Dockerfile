# tensorfill as a command, for every kind of file it reads:
#   docker build -t tensorfill .
#   docker run --rm -v "$PWD:/data" -u "$(id -u):$(id -g)" tensorfill complete photo.png --mask mask.png -o filled.png
FROM python:3.11-slim

WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[all]' && rm -rf /build

# compiled loops and fonts are kept where any user may write
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
USER nobody
WORKDIR /data
ENTRYPOINT ["tensorfill"]
CMD ["--help"]
