# Bakehouse on a clean Debian 12.
#
#     docker build -t bakehouse .
#     docker run -p 127.0.0.1:8080:8080 -v bakehouse:/data bakehouse --no-auth
#
# The server listens on all of the container's addresses, so it starts only with tokens (--token-file
# FILE, a mounted one) or when told to be open to whoever reaches it, as above, on loopback.

FROM debian:12 AS build
WORKDIR /src
COPY clients/install.sh clients/install.sh
RUN sh clients/install.sh build
COPY . .
RUN cmake --workflow --preset release

FROM debian:12
WORKDIR /tmp
COPY clients/install.sh install.sh
RUN sh install.sh run health && rm -rf install.sh /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin bakehouse \
    && install -d -o bakehouse -g bakehouse -m 0750 /data
COPY --from=build /src/build/release/bakehouse /usr/local/bin/bakehouse
COPY LICENSE /usr/share/doc/bakehouse/copyright
WORKDIR /data
USER bakehouse
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=10s --retries=3 \
    CMD curl --fail --silent --show-error --max-time 4 http://127.0.0.1:8080/healthz
ENTRYPOINT ["bakehouse", "serve", "--data", "/data", "--listen", "0.0.0.0:8080"]
